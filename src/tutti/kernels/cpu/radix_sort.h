// Stable sorts of keys, alone or with where they came from: by comparison when few, by their digits when many.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "tutti/hal/parallel.h"

namespace tutti::kernels {

// What is sorted: a key that is all there is to know, or a key with the number of its element, which makes all of them
// different, so that any sort is stable.
template <class Key>
struct KeyAlone {
  Key key;
  static constexpr unsigned first_bit = 0;
  [[nodiscard]] Key digits() const { return key; }
  friend bool operator<(const KeyAlone& a, const KeyAlone& b) { return a.key < b.key; }
};

// A key of at most 32 bits above the number of its element.
struct PackedItem {
  std::uint64_t word;
  static constexpr unsigned first_bit = 32;
  static PackedItem make(std::uint64_t key, std::int64_t index) { return {key << 32U | static_cast<std::uint64_t>(index)}; }
  [[nodiscard]] std::uint64_t digits() const { return word; }
  [[nodiscard]] std::int64_t index() const { return static_cast<std::int64_t>(word & 0xffffffffU); }
  friend bool operator<(const PackedItem& a, const PackedItem& b) { return a.word < b.word; }
};

struct WideItem {
  std::uint64_t key;
  std::int64_t number;
  static constexpr unsigned first_bit = 0;
  static WideItem make(std::uint64_t key, std::int64_t index) { return {key, index}; }
  [[nodiscard]] std::uint64_t digits() const { return key; }
  [[nodiscard]] std::int64_t index() const { return number; }
  friend bool operator<(const WideItem& a, const WideItem& b) { return a.key != b.key ? a.key < b.key : a.number < b.number; }
};

namespace detail {

inline constexpr std::int64_t comparison_items = 256;  // up to here comparing is faster
inline constexpr std::int64_t parallel_items = 64 * 1024;
inline constexpr std::size_t most_pieces = 16;

// One digit: counts of each piece of the items, then from them where each piece's items of each digit go.
template <unsigned bits, class Item>
bool sort_by_digit(const Item* from, Item* to, std::int64_t n, unsigned shift, std::size_t pieces, Parallel& parallel,
                   std::int64_t* places) {
  constexpr std::size_t values = std::size_t{1} << bits;
  const auto digit = [shift](const Item& item) { return static_cast<std::size_t>(item.digits() >> shift) & (values - 1); };
  const auto begin = [&](std::size_t piece) { return n * static_cast<std::int64_t>(piece) / static_cast<std::int64_t>(pieces); };
  const auto each_piece = [&](auto&& body) {
    if (pieces == 1) {
      body(std::size_t{0});
    } else {
      parallel.for_each_chunk(pieces, body);
    }
  };
  each_piece([&](std::size_t piece) {
    std::int64_t* counts = places + piece * values;
    std::fill_n(counts, values, 0);
    const std::int64_t end = begin(piece + 1);
    for (std::int64_t i = begin(piece); i < end; ++i) ++counts[digit(from[i])];
  });
  std::int64_t place = 0;
  for (std::size_t value = 0; value < values; ++value) {
    const std::int64_t before = place;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      const std::int64_t here = places[piece * values + value];
      places[piece * values + value] = place;
      place += here;
    }
    if (place - before == n) return false;  // all have this digit
  }
  each_piece([&](std::size_t piece) {
    std::int64_t* next = places + piece * values;
    const std::int64_t end = begin(piece + 1);
    for (std::int64_t i = begin(piece); i < end; ++i) to[next[digit(from[i])]++] = from[i];
  });
  return true;
}

// The bits in which some of the items differ.
template <class Item>
std::uint64_t differing_bits(const Item* items, std::int64_t n) {
  const auto first = static_cast<std::uint64_t>(items[0].digits());
  std::uint64_t differing = 0;
  for (std::int64_t i = 1; i < n; ++i) differing |= static_cast<std::uint64_t>(items[i].digits()) ^ first;
  return differing;
}

}  // namespace detail

// Sorts n items by keys of so many bits; `room` holds as many. Returns which of the two holds the result.
template <class Item>
Item* sort_items(Item* items, Item* room, std::int64_t n, unsigned key_bits, Parallel& parallel) {
  if (n <= detail::comparison_items) {
    std::sort(items, items + n);
    return items;
  }
  const std::size_t pieces = n < detail::parallel_items ? 1 : std::clamp<std::size_t>(parallel.width(), 1, detail::most_pieces);
  const bool is_large = key_bits > 16;  // fewer passes, and fewer counts that wait for the one before
  const unsigned bits = is_large ? 11 : 8;
  const auto places = std::make_unique_for_overwrite<std::int64_t[]>(pieces << bits);
  const std::uint64_t differing = detail::differing_bits(items, n) >> Item::first_bit;
  for (auto bit = static_cast<unsigned>(std::countr_zero(differing)); bit < key_bits && differing >> bit != 0; bit += bits) {
    const unsigned shift = Item::first_bit + bit;
    const bool moved = is_large ? detail::sort_by_digit<11>(items, room, n, shift, pieces, parallel, places.get())
                                : detail::sort_by_digit<8>(items, room, n, shift, pieces, parallel, places.get());
    if (moved) std::swap(items, room);
  }
  return items;
}

}  // namespace tutti::kernels
