// Parts of a tensor as NumPy's x[...] names them, and views that look like copies.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "tutti/ops/at.h"
#include "tutti/ops/gather.h"
#include "tutti/ops/index.h"
#include "tutti/ops/selection.h"
#include "tutti/ops/views.h"

namespace tutti {

// x[items]: index(x, {0, Range{1, 3}, ellipsis, t}), by NumPy's rules. Integers, ranges, ellipsis and new_axis give a view.
// Tensors of integers broadcast together and give a copy; an index out of range in them spoils the result. A mask stands for
// the positions of its true elements, and the host waits for their number.
Tensor index(const Tensor& x, std::span<const Index> items, Site site = {});
inline Tensor index(const Tensor& x, std::initializer_list<Index> items, Site site = {}) {
  return index(x, std::span(items.begin(), items.size()), site);
}

namespace detail {
// As another function, for errors.
Tensor index_as(const char* function, const Tensor& x, std::span<const Index> items, Site site);
}  // namespace detail

// The same elements in dense row-major order; x itself if it is.
Tensor contiguous(const Tensor& x, Site site = {});
// A copy of its own on that device ("GPU:1"), also if it is there already.
Tensor copy_to(const Tensor& x, std::string_view device, Site site = {});
// A copy on the CPU in pinned memory, which that GPU ("": the first that cares) copies from and to by itself, without staging.
// An ordinary copy where no GPU cares, as on a machine without one.
Tensor pin(const Tensor& x, std::string_view device = {}, Site site = {});
// On the CPU, in memory that some GPU copies from and to by itself.
bool is_pinned(const Tensor& x, Site site = {});

}  // namespace tutti
