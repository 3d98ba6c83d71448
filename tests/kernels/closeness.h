// How a result is compared with what it should be: the same value, or so many units in the last place away.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "tutti/tensor/dtype.h"

namespace tutti::testing {

// Same value, any NaN being like any other.
template <class T>
bool same(T a, T b) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return same(static_cast<float>(a), static_cast<float>(b));
  } else if constexpr (std::is_floating_point_v<T>) {
    return (a != a && b != b) || (a == b && std::signbit(a) == std::signbit(b));
  } else {
    return a == b;
  }
}

template <class T>
double printable(T x) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return static_cast<double>(static_cast<float>(x));
  } else {
    return static_cast<double>(x);
  }
}

// How far a result is from the exact value, in units of the last place of T at that value.
template <class T>
long double ulps(T result, long double exact) {
  if (std::isnan(exact)) return std::isnan(result) ? 0 : std::numeric_limits<long double>::infinity();
  const T nearest = static_cast<T>(exact);
  if (std::isinf(nearest) || std::isinf(result)) return nearest == result ? 0 : std::numeric_limits<long double>::infinity();
  const T above = std::nextafter(std::abs(nearest), std::numeric_limits<T>::infinity());
  const long double unit = std::isinf(above) ? std::abs(nearest) - std::nextafter(std::abs(nearest), T{0})
                                             : static_cast<long double>(above) - std::abs(nearest);
  return std::abs(static_cast<long double>(result) - exact) / unit;
}

}  // namespace tutti::testing
