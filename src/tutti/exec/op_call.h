// An op call as data: what a front-end function hands to an executor.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "tutti/base/inline_vector.h"
#include "tutti/exec/kernel.h"
#include "tutti/exec/op_input.h"
#include "tutti/exec/op_table.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

// The tensors pointed to must live until the executor returns.
struct OpCall {
  const OpRow& op;
  Site site;
  LogicalDevice* pinned = nullptr;     // the device of the variable it touches
  const TensorImpl* like = nullptr;    // where it has no tensor to compute on: the one whose device it follows
  const OutputSpec* wanted = nullptr;  // stated by the caller, where it does not follow from inputs
  Attributes attributes;
  std::array<Tensor, Inference::most_outputs> outputs;
  std::size_t output_count = 0;

  OpCall(const OpRow& row, Site where) noexcept : op(row), site(where) {}

  void add(const OpInput& input) { inputs_.push_back(input); }
  void add(const Tensor& tensor) { add({.tensor = &tensor.impl(site)}); }
  [[nodiscard]] std::span<OpInput> inputs() noexcept { return {inputs_.begin(), inputs_.end()}; }
  [[nodiscard]] std::span<const OpInput> inputs() const noexcept { return inputs_.view(); }

 private:
  InlineVector<OpInput, 8> inputs_;
};

}  // namespace tutti
