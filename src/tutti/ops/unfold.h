// Images as columns of what a window sees, for the rules of convolution's gradients.
#pragma once

#include "tutti/exec/neural_attributes.h"
#include "tutti/tensor/tensor.h"

namespace tutti::detail {

// (batch, channels * kernel height * kernel width, places)
Tensor unfold(const Tensor& images, const WindowAttributes& window, Site site);
// What average pooling divides by at each place: (outputs along y, outputs along x), or one number for all.
Tensor window_counts(const WindowAttributes& window, DType dtype, Site site);

}  // namespace tutti::detail
