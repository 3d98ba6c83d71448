// Puts random keys in order, not too many: dealt out by their upmost bits they lie next to where they belong.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "tutti/kernels/cpu/radix_sort.h"

namespace tutti::kernels {

// Beyond this the counts leave the cache.
inline constexpr std::int64_t most_spread_keys = 32 * 1024 - 1;

// Makes items of the upper halves of 1 to most_spread_keys keys, in order. key(i): spread evenly over all 64 bits; if not, it
// takes longer.
template <class Key>
void order_spread_keys(std::int64_t n, const Key& key, PackedItem* items) {
  constexpr unsigned most_bits = std::bit_width(static_cast<std::uint64_t>(most_spread_keys)) - 2;
  constexpr std::int32_t few = 32;
  // Two to four keys for each place.
  const unsigned bits = std::max(static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(n))), 3U) - 2U;
  const std::size_t groups = std::size_t{1} << bits;
  std::array<std::int32_t, std::size_t{1} << most_bits> next;
  std::fill_n(next.begin(), groups, 0);
  for (std::int64_t i = 0; i < n; ++i) ++next[key(i) >> (64 - bits)];
  std::int32_t place = 0;
  for (std::size_t group = 0; group < groups; ++group) place += std::exchange(next[group], place);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t k = key(i);
    items[next[k >> (64 - bits)]++] = PackedItem::make(k >> 32U, i);
  }
  // Each group's place is now where it ends.
  std::int32_t first = 0;
  for (std::size_t group = 0; group < groups; first = next[group++]) {
    if (next[group] - first > few) {
      std::sort(items + first, items + next[group]);
      continue;
    }
    for (std::int32_t i = first + 1; i < next[group]; ++i) {
      const PackedItem item = items[i];
      std::int32_t at = i;
      for (; at > first && item < items[at - 1]; --at) items[at] = items[at - 1];
      items[at] = item;
    }
  }
}

}  // namespace tutti::kernels
