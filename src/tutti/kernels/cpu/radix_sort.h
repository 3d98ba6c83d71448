// Stable sorts of keys, alone or with where they came from: by comparison when few, by their digits when many.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tutti/hal/parallel.h"

namespace tutti::kernels {

// What is sorted: a key that is all there is to know, or a key with the number of its element, which makes all of them
// different, so that any sort is stable.
template <class Key>
struct KeyAlone {
  Key key;
  static constexpr unsigned first_bit = 0;
  static constexpr bool is_all = true;
  [[nodiscard]] Key digits() const { return key; }
  friend bool operator<(const KeyAlone& a, const KeyAlone& b) { return a.key < b.key; }
};

// A key of at most 32 bits above the number of its element.
struct PackedItem {
  std::uint64_t word;
  static constexpr unsigned first_bit = 32;
  static constexpr bool is_all = false;
  static PackedItem make(std::uint64_t key, std::int64_t index) { return {key << 32U | static_cast<std::uint64_t>(index)}; }
  [[nodiscard]] std::uint64_t digits() const { return word; }
  [[nodiscard]] std::int64_t index() const { return static_cast<std::int64_t>(word & 0xffffffffU); }
  friend bool operator<(const PackedItem& a, const PackedItem& b) { return a.word < b.word; }
};

struct WideItem {
  std::uint64_t key;
  std::int64_t number;
  static constexpr unsigned first_bit = 0;
  static constexpr bool is_all = false;
  static WideItem make(std::uint64_t key, std::int64_t index) { return {key, index}; }
  [[nodiscard]] std::uint64_t digits() const { return key; }
  [[nodiscard]] std::int64_t index() const { return number; }
  friend bool operator<(const WideItem& a, const WideItem& b) { return a.key != b.key ? a.key < b.key : a.number < b.number; }
};

namespace detail {

inline constexpr std::int64_t comparison_items = 256;  // up to here comparing is faster
inline constexpr unsigned counted_bits = 8;
inline constexpr std::int64_t many_items = 4096;
inline constexpr std::int64_t parallel_items = 64 * 1024;
inline constexpr std::size_t most_pieces = 16;

// One digit: counts of each piece of the items, then from them where each piece's items of each digit go.
template <unsigned bits, class Item>
bool sort_by_digit(const Item* from, Item* to, std::int64_t n, std::uint64_t least, unsigned shift, std::size_t pieces,
                   Parallel& parallel, std::int64_t* places) {
  constexpr std::size_t values = std::size_t{1} << bits;
  const auto digit = [least, shift](const Item& item) {
    return static_cast<std::size_t>((item.digits() - least) >> shift) & (values - 1);
  };
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

// The least and the largest key, and the bits in which some of them differ.
struct KeyRange {
  std::uint64_t least;
  std::uint64_t largest;
  std::uint64_t differing;
};
template <class Item>
KeyRange range_of_keys(const Item* items, std::int64_t n, std::size_t pieces, Parallel& parallel) {
  using Key = decltype(items[0].digits());
  const Key first = items[0].digits() >> Item::first_bit;
  std::array<KeyRange, most_pieces> ranges{};
  const auto look = [&](std::size_t piece) {
    Key least = first;
    Key largest = first;
    Key differing = 0;
    const std::int64_t end = n * static_cast<std::int64_t>(piece + 1) / static_cast<std::int64_t>(pieces);
    for (std::int64_t i = n * static_cast<std::int64_t>(piece) / static_cast<std::int64_t>(pieces); i < end; ++i) {
      const Key key = items[i].digits() >> Item::first_bit;
      least = std::min(least, key);
      largest = std::max(largest, key);
      differing |= key ^ first;
    }
    ranges[piece] = {least, largest, differing};
  };
  if (pieces == 1) {
    look(0);
  } else {
    parallel.for_each_chunk(pieces, look);
  }
  KeyRange all = ranges[0];
  for (std::size_t piece = 1; piece < pieces; ++piece) {
    all.least = std::min(all.least, ranges[piece].least);
    all.largest = std::max(all.largest, ranges[piece].largest);
    all.differing |= ranges[piece].differing;
  }
  return all;
}

// Keys that are all there is to an item, few different ones: each is counted and written down as often as it was there.
template <class Item>
void sort_by_counting(Item* items, std::int64_t n, std::uint64_t least, unsigned shift, std::size_t pieces, Parallel& parallel) {
  std::vector<std::int64_t> counts(pieces << counted_bits);
  const auto count = [&](std::size_t piece) {
    std::int64_t* const those = counts.data() + (piece << counted_bits);
    const std::int64_t end = n * static_cast<std::int64_t>(piece + 1) / static_cast<std::int64_t>(pieces);
    for (std::int64_t i = n * static_cast<std::int64_t>(piece) / static_cast<std::int64_t>(pieces); i < end; ++i) {
      ++those[(items[i].digits() - least) >> shift];
    }
  };
  if (pieces == 1) {
    count(0);
  } else {
    parallel.for_each_chunk(pieces, count);
  }
  for (std::size_t value = 0; value < std::size_t{1} << counted_bits; ++value) {
    std::int64_t times = 0;
    for (std::size_t piece = 0; piece < pieces; ++piece) times += counts[(piece << counted_bits) + value];
    using Key = decltype(items->digits());
    items = std::fill_n(items, times, Item{static_cast<Key>(least + (static_cast<std::uint64_t>(value) << shift))});
  }
}

}  // namespace detail

// Sorts n items by their keys; `room` holds as many. Returns which of the two holds the result.
template <class Item>
Item* sort_items(Item* items, Item* room, std::int64_t n, Parallel& parallel) {
  if (n <= detail::comparison_items) {
    std::sort(items, items + n);
    return items;
  }
  const std::size_t pieces = n < detail::parallel_items ? 1 : std::clamp<std::size_t>(parallel.width(), 1, detail::most_pieces);
  // Keys are counted from the least: small numbers of both signs differ in all their bits, but lie close together.
  const detail::KeyRange range = detail::range_of_keys(items, n, pieces, parallel);
  const auto width = static_cast<unsigned>(std::bit_width(range.largest - range.least));
  const auto low = static_cast<unsigned>(std::countr_zero(range.differing));
  if constexpr (Item::is_all) {
    if (width <= low + detail::counted_bits) {
      if (width > 0) detail::sort_by_counting(items, n, range.least, low, pieces, parallel);
      return items;
    }
  }
  // Fewer passes, and fewer counts that wait for the one before; for few items more counts than are worth it.
  const bool is_large = width > 16 && n >= detail::many_items;
  const unsigned bits = is_large ? 11 : 8;
  const auto places = std::make_unique_for_overwrite<std::int64_t[]>(pieces << bits);
  const std::uint64_t least = range.least << Item::first_bit;
  for (unsigned bit = low; bit < width; bit += bits) {
    const unsigned shift = Item::first_bit + bit;
    const bool moved = is_large ? detail::sort_by_digit<11>(items, room, n, least, shift, pieces, parallel, places.get())
                                : detail::sort_by_digit<8>(items, room, n, least, shift, pieces, parallel, places.get());
    if (moved) std::swap(items, room);
  }
  return items;
}

}  // namespace tutti::kernels
