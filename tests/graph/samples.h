// Tensors to capture with, and their elements.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::conformance {

inline Tensor some(std::uint64_t key, const Shape& shape = {4, 6}) { return uniform(shape, {.key = key}); }

inline std::vector<float> numbers(const Tensor& x) { return read<float>(x); }

// Shape, dtype and bits are the same.
inline bool is_same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  const Tensor left = detail::to_host(a, SyncReason::value_read, Intent::unstated, Site{});
  const Tensor right = detail::to_host(b, SyncReason::value_read, Intent::unstated, Site{});
  const std::size_t bytes = static_cast<std::size_t>(left.size()) * size_of(left.dtype());
  return bytes == 0 || std::memcmp(left.impl().address(), right.impl().address(), bytes) == 0;
}

}  // namespace tutti::conformance
