// One input of an op call: a tensor, or a host scalar that travels inside the call.
#pragma once

#include <array>
#include <cstddef>

#include "tutti/tensor/tensor.h"

namespace tutti {

struct OpInput {
  const TensorImpl* tensor = nullptr;
  bool is_given_away = false;  // the caller holds it no longer: its memory may be reused
  DType scalar_dtype = DType::f32;
  alignas(8) std::array<std::byte, 8> scalar{};  // a kernel run in the caller reads it where it stands

  [[nodiscard]] DType dtype() const noexcept { return tensor != nullptr ? tensor->dtype() : scalar_dtype; }
};

}  // namespace tutti
