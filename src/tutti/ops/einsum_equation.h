// What an einsum equation says about the axes of its tensors. For einsum.cc; not for users.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tutti/tensor/tensor.h"

namespace tutti::detail {

// A letter, or one of the axes an ellipsis stands for, counted from the last.
using Label = int;
inline constexpr Label first_ellipsis_label = 64;

using Labels = std::vector<Label>;

struct Equation {
  std::vector<Labels> inputs;  // a label for each axis of each tensor; one tensor may have a label twice
  Labels output;
};

// Throws InvalidArgument for what cannot be understood, ShapeError for what does not fit the tensors.
Equation parse_equation(std::string_view text, std::span<const Tensor> tensors, Site site);

// A label as it stands in the equation.
std::string_view to_string(Label label);

}  // namespace tutti::detail
