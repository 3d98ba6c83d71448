// The rule of an op for gradients: how those of its inputs follow from those of its outputs. Rules are made of ops, so a gradient
// can be recorded and differentiated like any other program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tutti/base/site.h"
#include "tutti/exec/kernel.h"
#include "tutti/exec/op_input.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

class CallData;
struct GradientCall;
using Gradient = void (*)(GradientCall& call);

// A call is kept for its rule no longer than what the rule reads.
struct GradientRule {
  Gradient apply = nullptr;
  std::uint8_t reads_inputs = 0;   // bit i: the elements of input i; bit 7 stands for all further inputs
  std::uint8_t reads_outputs = 0;  // likewise
  const char* none = nullptr;      // why there is no rule: "its result is a whole number"

  [[nodiscard]] bool reads_input(std::size_t i) const noexcept { return (reads_inputs >> (i < 7 ? i : 7) & 1U) != 0; }
  [[nodiscard]] bool reads_output(std::size_t i) const noexcept { return (reads_outputs >> (i < 7 ? i : 7) & 1U) != 0; }
};

// For the table: an op without a rule, and why.
constexpr GradientRule no_gradient(const char* why) { return {.none = why}; }

struct GradientInput {
  Tensor tensor;   // undefined where the rule does not read it, and of a number
  OpInput number;  // not to be used where the input was a tensor
  Shape shape;
  DType dtype = DType::f32;
  bool is_number = false;
};

// One call, seen from behind.
struct GradientCall {
  const OpRow& op;
  Site site;
  const Attributes& attributes;
  const CallData* data;
  std::span<const GradientInput> inputs;
  std::span<const Tensor> outputs;  // undefined where the rule does not read them
  std::span<const Tensor> given;    // the gradients of the outputs; undefined: zero, but one of them is not
  std::span<const bool> wanted;     // of the inputs
  std::span<Tensor> results;        // the inputs' gradients; undefined: zero

  [[nodiscard]] const Tensor& input(std::size_t i) const noexcept { return inputs[i].tensor; }
  [[nodiscard]] const Tensor& output(std::size_t i = 0) const noexcept { return outputs[i]; }
  [[nodiscard]] const Tensor& gradient(std::size_t i = 0) const noexcept { return given[i]; }
  [[nodiscard]] const Shape& shape(std::size_t i) const noexcept { return inputs[i].shape; }
  [[nodiscard]] bool wants(std::size_t i) const noexcept { return wanted[i]; }
  void give(std::size_t i, Tensor gradient) const { results[i] = std::move(gradient); }
  template <class T>
  [[nodiscard]] T as() const {
    return attributes.as<T>();
  }
};

}  // namespace tutti
