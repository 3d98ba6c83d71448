// Picking elements: by index, by where they are not zero, and views that look like copies.
#pragma once

#include <string_view>

#include "tutti/tensor/tensor.h"
#include "tutti/tensor/view.h"

namespace tutti {

// Elements of x along the axis at these indices (int32 or int64, any shape); negative ones count from the end. An index
// out of range spoils the result: reading it throws, with this call's site.
Tensor take(const Tensor& x, const Tensor& indices, std::int64_t axis = 0, Site site = {});

// Indices of the elements that are not zero, one row each. Its shape depends on data, so the host waits for the count.
Tensor nonzero(const Tensor& x, Site site = {});
// How many elements are not zero, on the device: no sync.
Tensor count_nonzero(const Tensor& x, Site site = {});

// A view where strides allow it, else a copy. One size may be -1.
Tensor reshape(const Tensor& x, const Shape& shape, Site site = {});
// The same elements in dense row order; x itself if it is.
Tensor contiguous(const Tensor& x, Site site = {});
// A copy of its own on that device ("GPU:1"), also if it is there already.
Tensor copy_to(const Tensor& x, std::string_view device, Site site = {});
// A copy on the CPU in pinned memory, which that GPU ("": the first that cares) copies from and to by itself, without staging.
// An ordinary copy where no GPU cares, as on a machine without one.
Tensor pin(const Tensor& x, std::string_view device = {}, Site site = {});
// On the CPU, in memory that some GPU copies from and to by itself.
bool is_pinned(const Tensor& x, Site site = {});

}  // namespace tutti
