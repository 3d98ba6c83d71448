// Other shapes and strides over the same buffer: the geometry of views. None of it copies, runs or records anything; the
// functions that programs call are in ops/views.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "tutti/tensor/axes.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

// Python's start:stop:step along one axis; a step may be negative, an absent end means "as far as it goes".
struct Range {
  std::optional<std::int64_t> start = {};
  std::optional<std::int64_t> stop = {};
  std::int64_t step = 1;
};

// Where a range falls on an axis of some size.
struct Stretch {
  std::int64_t start;
  std::int64_t count;
  std::int64_t step;  // 1 where there are fewer than two elements
};
Stretch resolve_range(const char* function, const Range& range, std::int64_t size, Site site);

// One for each axis of a tensor, in order.
class Stretches {
 public:
  void push_back(const Stretch& stretch) noexcept { values_[size_++] = stretch; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  Stretch& operator[](std::size_t axis) noexcept { return values_[axis]; }
  const Stretch& operator[](std::size_t axis) const noexcept { return values_[axis]; }
  [[nodiscard]] const Stretch* begin() const noexcept { return values_.data(); }
  [[nodiscard]] const Stretch* end() const noexcept { return values_.data() + size_; }

 private:
  std::array<Stretch, most_axes> values_;
  std::uint8_t size_ = 0;
};

// A part of a tensor, and the axes it is seen with.
struct SliceAttributes {
  Stretches axes;
  std::uint8_t dropped = 0;  // axes of the tensor, as a bit mask, of which one element is left and no axis
  std::uint8_t added = 0;    // axes of the result, as a bit mask, that are new
};

struct DiagonalAttributes {
  std::int64_t offset = 0;
  std::int32_t rows = 0;  // axes of the tensor
  std::int32_t columns = 0;
};

namespace detail {

Tensor view_of(const Tensor& x, const Shape& shape, const Dims& strides, std::int64_t offset);
// All of every axis.
SliceAttributes whole(const Shape& shape) noexcept;
Tensor sliced(const Tensor& x, const SliceAttributes& part);
// Axis i of the result is axis axes[i] of x.
Tensor permuted(const Tensor& x, const Dims& axes);
// The permutation that undoes this one.
Dims inverted(const Dims& axes) noexcept;
// x broadcasts to the shape.
Tensor broadcasted(const Tensor& x, const Shape& shape);
Tensor diagonal_of(const Tensor& x, const DiagonalAttributes& which);
// The same elements in row-major order under another shape, if strides allow it without a copy. `shape` has no -1.
std::optional<Tensor> try_reshape(const Tensor& x, const Shape& shape);

}  // namespace detail

// Replaces one -1 by what is left; throws ShapeError when the counts do not match.
Shape resolve_reshape(const char* function, const Shape& from, const Shape& to, Site site);

}  // namespace tutti
