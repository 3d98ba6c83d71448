// What a collective must give, worked out by one process on its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "tutti/mesh/engines/exchange.h"

namespace tutti::testing_engines {

// Element i of a member: of both signs, large enough that integers wrap and half precision rounds.
template <class T>
T element(int member, std::size_t i) {
  std::uint64_t mixed = (i + 1) * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(member + 1) * 0xC2B2AE3D27D4EB4FULL;
  mixed ^= mixed >> 29U;
  if constexpr (std::is_same_v<T, bool>)
    return (mixed >> 7U & 1U) != 0;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(mixed >> 3U);
  else
    return T(static_cast<float>(static_cast<std::int64_t>(mixed % 4001) - 2000) / 64.F);
}

template <class T>
std::vector<std::uint8_t> elements(int member, std::size_t count, std::size_t from = 0) {
  std::vector<std::uint8_t> out(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    const T value = element<T>(member, from + i);
    std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
  }
  return out;
}

// One by one, in the order of the members; in f32 for half precision, rounded at the end.
template <class T>
T reduced(int size, std::size_t i, Reduction reduction) {
  constexpr bool is_half = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
  constexpr bool is_whole = std::is_integral_v<T>;
  using Sum = std::conditional_t<is_half, float, std::conditional_t<is_whole, std::uint64_t, T>>;
  using Value = std::conditional_t<is_half, float, T>;
  Sum total = static_cast<Sum>(element<T>(0, i));
  auto best = static_cast<Value>(element<T>(0, i));
  for (int member = 1; member < size; ++member) {
    const T next = element<T>(member, i);
    if (reduction == Reduction::prod)
      total *= static_cast<Sum>(next);
    else
      total += static_cast<Sum>(next);
    best = reduction == Reduction::min ? std::min(best, static_cast<Value>(next)) : std::max(best, static_cast<Value>(next));
  }
  if (reduction == Reduction::min || reduction == Reduction::max) return static_cast<T>(best);
  if constexpr (!is_whole) {
    if (reduction == Reduction::mean) total /= static_cast<Sum>(size);
  }
  return static_cast<T>(total);
}

template <class T>
std::vector<std::uint8_t> all_reduced(int size, std::size_t count, Reduction reduction, std::size_t from = 0) {
  std::vector<std::uint8_t> out(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    const T value = reduced<T>(size, from + i, reduction);
    std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
  }
  return out;
}

}  // namespace tutti::testing_engines
