// Which random numbers a draw gets, from its options. For the files that define draws; not for users.
#pragma once

#include <cstdint>
#include <optional>

#include "tutti/base/site.h"
#include "tutti/ops/generator.h"
#include "tutti/tensor/dtype.h"

namespace tutti::detail {

struct DrawSource {
  const char* function;
  std::optional<std::uint64_t> key;
  std::uint64_t counter;
  Generator* generator;

  template <class Options>
  DrawSource(const char* name, const Options& options)
      : function(name), key(options.key), counter(options.counter), generator(options.generator) {}
};

// Elements of a draw that one block makes.
constexpr std::int64_t words_of_block = 4;
constexpr std::int64_t elements_of_block(DType dtype) { return size_of(dtype) == 8 ? 2 : words_of_block; }

// A key's numbers as asked for, else as many of a generator as that many elements need.
Generator::Reserved numbers_for(const DrawSource& source, std::int64_t elements, std::int64_t per_block, Site site);

}  // namespace tutti::detail
