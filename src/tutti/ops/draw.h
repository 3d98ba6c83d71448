// Which random numbers a draw gets, from its options. For the files that define draws; not for users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "tutti/base/site.h"
#include "tutti/exec/generator.h"
#include "tutti/exec/op_call.h"
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

// The data of a recorded call whose numbers came from a generator: its rule repeats that draw, and a replay draws anew.
class FromGenerator final : public CallData {
 public:
  [[nodiscard]] std::shared_ptr<const CallData> keep() const override { return std::make_shared<FromGenerator>(); }
};

// None from a generator where the source has a key.
Draw numbers_for(const DrawSource& source, std::int64_t elements, std::int64_t per_block, Site site);

// Elements of a draw that one block makes.
constexpr std::int64_t words_of_block = 4;
constexpr std::int64_t elements_of_block(DType dtype) { return size_of(dtype) == 8 ? 2 : words_of_block; }

// Sets the attributes of a draw of that many elements and where it takes its numbers from: the key's, as asked for, or a
// generator's, which the call takes when it runs.
template <class Attributes>
void set_numbers(OpCall& call, Attributes attributes, const DrawSource& source, std::int64_t elements, std::int64_t per_block) {
  static_assert(offsetof(Attributes, key) == offsetof(Generator::Reserved, key) &&
                offsetof(Attributes, counter) == offsetof(Generator::Reserved, counter));
  call.draw = numbers_for(source, elements, per_block, call.site);
  if (source.key) attributes.key = *source.key;
  attributes.counter = source.counter;
  call.attributes = tutti::Attributes(attributes);
}

}  // namespace tutti::detail
