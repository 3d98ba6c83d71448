// What every backend works out about a uniform draw before it draws: the limits of the result, and the range of integers.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tutti/exec/attributes.h"

namespace tutti {

namespace detail {

// The next value of T, upwards or downwards; x is finite.
template <class T>
T neighbour(T x, bool up) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::nextafter(x, up ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity());
  } else {
    const bool is_negative = (x.bits & 0x8000U) != 0;
    if ((x.bits & 0x7fffU) == 0) {
      x.bits = up ? 0x0001U : 0x8001U;
    } else {
      x.bits = static_cast<std::uint16_t>(is_negative == up ? x.bits - 1 : x.bits + 1);
    }
    return x;
  }
}

}  // namespace detail

// Of a floating draw, in the type F it is computed in. The result is unit * span + low, limited to [least, most].
template <class F>
struct UniformBounds {
  F low;
  F span;
  F least;
  F most;
};

// T the dtype, F the type computed in, which holds every T.
template <class T, class F>
UniformBounds<F> bounds_of(const UniformAttributes& draw) {
  UniformBounds<F> bounds;
  bounds.low = static_cast<F>(draw.low);
  bounds.span = static_cast<F>(draw.high - draw.low);
  T first(bounds.low);
  T last(static_cast<F>(draw.high));
  if (static_cast<double>(static_cast<F>(first)) < draw.low) first = detail::neighbour(first, true);
  if (static_cast<double>(static_cast<F>(last)) >= draw.high) last = detail::neighbour(last, false);
  bounds.least = static_cast<F>(first);
  bounds.most = static_cast<F>(last);
  if (bounds.least > bounds.most) bounds.least = bounds.most = static_cast<F>(T(bounds.low));
  return bounds;
}

// Of a draw of integers, modulo 2^64. A range of 0 stands for all of them.
struct UniformRange {
  std::uint64_t low;
  std::uint64_t range;
};

inline UniformRange range_of(const UniformAttributes& draw) {
  const auto whole = [](double x) {
    if (x >= 0x1p63) return std::uint64_t{1} << 63U;
    return static_cast<std::uint64_t>(x <= -0x1p63 ? std::numeric_limits<std::int64_t>::min() : static_cast<std::int64_t>(x));
  };
  return {whole(draw.low), whole(draw.high) - whole(draw.low)};
}

}  // namespace tutti
