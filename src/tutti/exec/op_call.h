// An op call as data: what a front-end function hands to an executor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tutti/exec/kernel.h"
#include "tutti/exec/op_input.h"
#include "tutti/exec/op_table.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

// The tensors pointed to must live until the executor returns.
struct OpCall {
  static constexpr std::size_t inline_inputs = 4;

  const OpRow& op;
  Site site;
  LogicalDevice* pinned = nullptr;     // the device of the variable it touches
  const OutputSpec* wanted = nullptr;  // stated by the caller, where it does not follow from inputs
  Attributes attributes;
  std::array<Tensor, Inference::most_outputs> outputs;
  std::size_t output_count = 0;

  OpCall(const OpRow& row, Site where) noexcept : op(row), site(where) {}

  void add(const OpInput& input) {
    if (input_count_ < inline_inputs) {
      inline_[input_count_++] = input;
      return;
    }
    if (more_.empty()) more_.assign(inline_.begin(), inline_.end());
    more_.push_back(input);
    ++input_count_;
  }
  void add(const Tensor& tensor) { add({.tensor = &tensor.impl(site)}); }
  [[nodiscard]] std::span<OpInput> inputs() noexcept { return {more_.empty() ? inline_.data() : more_.data(), input_count_}; }
  [[nodiscard]] std::span<const OpInput> inputs() const noexcept {
    return {more_.empty() ? inline_.data() : more_.data(), input_count_};
  }

 private:
  std::array<OpInput, inline_inputs> inline_;
  std::size_t input_count_ = 0;
  std::vector<OpInput> more_;
};

}  // namespace tutti
