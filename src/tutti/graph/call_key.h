// What tells one graph of a captured function from another: arguments but for the tensors' values, and what the thread has set.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "tutti/base/inline_vector.h"
#include "tutti/ops/variable.h"

namespace tutti::graph {

class CallKey {
 public:
  using Words = InlineVector<std::uint64_t, 96>;

  void add(const Tensor& x);
  void add(const Variable& x);
  void add(std::string_view text);
  template <class Number>
    requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
  void add(Number value) {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value < sizeof word ? sizeof value : sizeof word);
    words_.push_back(word);
  }
  // Device scope, streams, settings.
  void add_place();

  [[nodiscard]] const Words& words() const noexcept { return words_; }
  // The defined tensors among the arguments.
  [[nodiscard]] std::span<const Tensor* const> tensors() const noexcept { return tensors_.view(); }

 private:
  Words words_;
  InlineVector<const Tensor*, 16> tensors_;
};

}  // namespace tutti::graph
