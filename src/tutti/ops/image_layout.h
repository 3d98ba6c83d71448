// Images and the order of their axes in memory: rows of convolutions and pooling give channels last where an input has them last.
// For the files that define such rows; not for users.
#pragma once

#include "tutti/exec/neural_attributes.h"
#include "tutti/exec/op_call.h"
#include "tutti/place/runtime.h"

namespace tutti::detail {

// (batch, channels, height, width) whose channels are contiguous, pixel after pixel, and that is not row-major order as well.
inline bool has_channels_last(const TensorImpl& x) noexcept {
  const Shape& shape = x.shape();
  if (shape.size() != 4 || x.strides()[3] == 1) return false;
  std::int64_t expected = 1;
  for (const std::size_t axis : {1, 3, 2, 0}) {
    if (shape[axis] != 1 && x.strides()[axis] != expected) return false;
    expected *= shape[axis];
  }
  return shape[1] != 1 && (shape[2] != 1 || shape[3] != 1);
}

inline WindowAttributes& window_of(WindowAttributes& attributes) noexcept { return attributes; }
inline WindowAttributes& window_of(ConvolutionAttributes& attributes) noexcept { return attributes.window; }

// OpDefinition::arrange of a row whose inputs and outputs all have the four axes of images.
template <class Attributes>
Dims arrange_images(OpCall& call, const LogicalDevice&) {
  bool is_last = false;
  for (const OpInput& input : call.inputs()) is_last = is_last || (input.tensor != nullptr && has_channels_last(*input.tensor));
  if (!is_last) return {};
  auto attributes = call.attributes.as<Attributes>();
  window_of(attributes).channels_last = true;
  call.attributes = tutti::Attributes(attributes);
  return {0, 2, 3, 1};
}

// The shape of images, as the layout has it.
inline Shape image_shape(std::int64_t batch, std::int64_t channels, std::int64_t height, std::int64_t width, bool channels_last) {
  return channels_last ? Shape{batch, height, width, channels} : Shape{batch, channels, height, width};
}

}  // namespace tutti::detail
