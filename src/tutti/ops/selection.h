// Picking elements by their values. Where the shape of the result depends on data the host waits for the count, unless the
// caller states a size: what is found comes first, the rest is filled, and the true count is a tensor on the device.
#pragma once

#include <optional>

#include "tutti/ops/tensor_arg.h"

namespace tutti {

// How many elements are not zero, on the device: no sync.
Tensor count_nonzero(const Tensor& x, Site site = {});

// Positions of the elements that are not zero, one row each.
Tensor nonzero(const Tensor& x, Site site = {});

struct NonzeroOptions {
  std::int64_t size = 0;  // rows
  std::int64_t fill = -1;
};
struct NonzeroResult {
  Tensor positions;
  Tensor count;  // int64; may exceed the size
};
// As many rows as the size says: no sync.
NonzeroResult nonzero(const Tensor& x, const NonzeroOptions& options, Site site = {});

// The elements for which the mask holds, in one axis. Both broadcast.
Tensor masked_select(const Tensor& x, const Tensor& mask, Site site = {});

struct MaskedSelectOptions {
  std::int64_t size = 0;
  TensorArg fill = 0;  // a number
};
struct MaskedSelectResult {
  Tensor values;
  Tensor count;  // int64; may exceed the size
};
// As many elements as the size says: no sync.
MaskedSelectResult masked_select(const Tensor& x, const Tensor& mask, const MaskedSelectOptions& options, Site site = {});

// x with the elements for which the mask holds replaced, in row-major order, by the first of the values, whose dtype must promote
// to that of x. The mask broadcasts to x. Values that are left over are not used; too few spoil the result. No sync.
Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& values, Site site = {});

// Every element along the axis as often as the repeats say: a number for all, or a tensor of integers, one for each. Without an
// axis x is flattened first.
Tensor repeat_interleave(const Tensor& x, const TensorArg& repeats, std::optional<std::int64_t> axis = {}, Site site = {});

// A size that has to be given.
struct StatedSize {
  std::int64_t value;
  constexpr StatedSize(std::int64_t size) noexcept : value(size) {}
};
struct RepeatSizeOptions {
  std::optional<std::int64_t> axis = {};
  StatedSize output_size;  // along the axis
  TensorArg fill = 0;      // a number
};
struct RepeatResult {
  Tensor values;
  Tensor count;  // int64: what the repeats add up to; may exceed the size
};
// As many elements along the axis as the size says: no sync.
RepeatResult repeat_interleave(const Tensor& x, const TensorArg& repeats, const RepeatSizeOptions& options, Site site = {});

namespace detail {
// Positions of a mask's true elements, which must be so many: anything else spoils them. No sync.
Tensor positions_of(const Tensor& mask, std::int64_t count, Site site);
}  // namespace detail

}  // namespace tutti
