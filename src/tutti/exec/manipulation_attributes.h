// The attribute structs of ops that make and move elements without computing with them.
#pragma once

#include <array>
#include <cstdint>

#include "tutti/tensor/shape.h"

namespace tutti {

// Element i is start + i * step: in 64-bit integers, which wrap, for an integer dtype, otherwise in f64 with two roundings.
struct RangeAttributes {
  std::int64_t first = 0;  // of integers
  std::int64_t by = 0;
  double start = 0;  // of reals
  double step = 0;
  double last = 0;
  bool has_last = false;  // the last element is `last`, exactly
};

// Element (i, j) of a matrix is kept where low <= j - i <= high, else zero.
struct BandAttributes {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

struct ConcatAttributes {
  std::int32_t axis = 0;
};

// Elements put before the first and behind the last along each axis.
struct PadAttributes {
  std::array<std::int64_t, most_axes> before{};
  std::array<std::int64_t, most_axes> after{};
};

}  // namespace tutti
