// What a list of index items means for a tensor: a view, and tensors that index some of the view's axes. For the files that
// define indexing functions; not for users.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tutti/ops/index.h"
#include "tutti/ops/views.h"

namespace tutti::detail {

struct IndexPlan {
  struct Mask {
    const Tensor* tensor;  // one of the items
    std::size_t first;     // of the axes it covers
  };

  // After integers, ranges, ellipsis and new axes: the part of the tensor, and where it lies if the tensor is contiguous.
  SliceAttributes part;
  Shape shape;
  Dims strides;
  std::int64_t offset = 0;
  std::array<std::int8_t, most_axes> names{};  // of the axes, as the caller counts them
  std::array<Tensor, most_axes> indices;       // of each axis; undefined: all of it
  std::array<Mask, most_axes> masks;
  std::size_t mask_count = 0;
  bool has_indices = false;
  // NumPy's rule: where the items that index (integers count, if there are tensors) stand side by side, the axes they give
  // stand in their place, else in front.
  bool is_split = false;
  std::size_t group = 0;  // axes before the first such item

  [[nodiscard]] bool is_view() const noexcept { return !has_indices && mask_count == 0; }
  // One mask and nothing else that indexes.
  [[nodiscard]] bool is_one_mask() const noexcept { return !has_indices && mask_count == 1 && !is_split; }
  // Turns a mask into the positions ([n, axes of the mask]) of its true elements.
  void replace_mask(std::size_t number, const Tensor& positions, Site site);
};

// Throws in the name of the function for items that do not fit the shape.
IndexPlan plan_index(const char* function, const Shape& shape, std::span<const Index> items, Site site);

// The view that is left of a tensor after integers, ranges, ellipsis and new axes; other items keep their axes.
Tensor view_by(const char* function, const Tensor& x, std::span<const Index> items, Site site);

// A plan without masks, its axes in the order kernels want: outer ..., indexed ..., inner ...
struct ArrangedIndex {
  Dims axes;  // of the plan, in that order
  Shape shape;
  Dims strides;
  std::size_t first = 0;
  std::size_t count = 0;
  std::array<std::int8_t, most_axes> names{};  // of the indexed axes
  std::array<Tensor, most_axes> indices;       // all of one shape
  Shape result;
};
ArrangedIndex arrange(const char* function, const IndexPlan& plan, Site site);

// int32 or int64: what kernels take. Other integers are cast; anything else throws in the name of the function.
Tensor as_indices(const char* function, const Tensor& x, Site site);

}  // namespace tutti::detail
