// Axes along which a tensor repeats itself (a broadcast): what is the same all along them is worked out once, on any backend.
// For the files that define such functions; not for users.
#pragma once

#include <cstdint>

#include "tutti/ops/on_host.h"
#include "tutti/tensor/view.h"

namespace tutti::detail {

// Whether an op over fewer elements and a second one for what is missing are quicker than one op over all of them: a host counts
// 256 Ki in the time of an op, a GPU some millions in that of a launch.
inline bool is_worth_two_ops(const Tensor& x, Site site) {
  constexpr std::int64_t on_the_host = 256 * 1024;
  constexpr std::int64_t elsewhere = 4 * 1024 * 1024;
  return x.size(site) >= (is_on_host(x, site) ? on_the_host : elsewhere);
}

// The axes with several elements that are one in memory, as a bit mask.
inline std::uint32_t repeated_axes(const Tensor& x) noexcept {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < x.shape().size(); ++i) {
    if (x.strides()[i] == 0 && x.shape()[i] > 1) out |= 1U << i;
  }
  return out;
}

// The last so many axes, as a bit mask.
inline std::uint32_t last_axes(const Tensor& x, std::size_t axes) noexcept {
  return ((1U << x.rank()) - 1U) & ~((1U << (x.rank() - axes)) - 1U);
}

// Whether all elements along these axes are one in memory, and there are so many that it pays to ask.
inline bool repeats_along(const Tensor& x, std::uint32_t axes, Site site) {
  return axes != 0 && (repeated_axes(x) & axes) == axes && is_worth_two_ops(x, site);
}

// A view with one element along each of these axes.
inline Tensor once_along(const Tensor& x, std::uint32_t axes, Site site) {
  Tensor out = x;
  for (std::size_t i = 0; i < x.shape().size(); ++i) {
    if ((axes >> i & 1U) != 0) out = slice(out, static_cast<std::int64_t>(i), {.start = 0, .stop = 1}, site);
  }
  return out;
}

// How many elements there are for each one in memory, over these axes.
inline std::int64_t times_along(const Tensor& x, std::uint32_t axes) noexcept {
  std::int64_t out = 1;
  for (std::size_t i = 0; i < x.shape().size(); ++i) out *= (axes >> i & 1U) != 0 ? x.shape()[i] : 1;
  return out;
}

// Whether neighbours along the innermost axis that has any are neighbours in memory.
inline bool lies_side_by_side(const Tensor& x) noexcept {
  std::size_t axis = x.shape().size();
  while (axis > 0 && x.shape()[axis - 1] == 1) --axis;
  return axis == 0 || x.strides()[axis - 1] == 1;
}

// f(x), where f treats each line along the axis by itself: lines that are one in memory are worked on once.
template <class F>
Tensor once_per_line(const Tensor& x, std::size_t axis, Site site, const F& f) {
  const std::uint32_t repeated = repeated_axes(x) & ~(1U << axis);
  if (repeated == 0) [[likely]]
    return f(x);
  const Tensor once = f(once_along(x, repeated, site));
  Shape shape = x.shape();
  shape[axis] = once.shape()[axis];
  return broadcast_to(once, shape, site);
}

}  // namespace tutti::detail
