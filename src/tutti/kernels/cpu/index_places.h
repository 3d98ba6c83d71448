// Walks an IndexSpace on the host: where positions lie once their indices are looked up, and the slices that belong to them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tutti/exec/index_space.h"

namespace tutti::kernels {

inline constexpr std::int64_t most_places = 512;

// The places of up to most_places positions, and where their values lie.
struct PlaceBlock {
  std::array<std::int64_t, most_places> place;
  std::array<std::int64_t, most_places> value;
};

// Positions begin ... begin + n - 1 of the space. Throws KernelFailed for an index out of range.
void locate(const IndexSpace& space, const Operand* indices, std::int64_t begin, std::int64_t n, PlaceBlock& block, Site site);

// Calls visit(place, value) for the elements of the axes first ... last - 1 in row order.
template <class Visit>
void for_each_step(const IndexSpace& space, std::size_t first, std::size_t last, const Visit& visit) {
  const std::int64_t count = space.count(first, last);
  std::array<std::int64_t, most_axes> at{};
  std::int64_t place = 0;
  std::int64_t value = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    visit(place, value);
    for (std::size_t axis = last; axis-- > first;) {
      place += space.place[axis];
      value += space.value[axis];
      if (++at[axis] < space.size[axis]) break;
      place -= space.size[axis] * space.place[axis];
      value -= space.size[axis] * space.value[axis];
      at[axis] = 0;
    }
  }
}

// One line of a slice: its innermost axis. A slice without axes is a line of one element.
struct Line {
  std::int64_t size = 1;
  std::int64_t place = 1;  // steps
  std::int64_t value = 1;
};
inline Line line_of(const IndexSpace& space) noexcept {
  if (space.inner == 0) return {};
  const std::size_t last = space.rank - 1;
  return {space.size[last], space.place[last], space.value[last]};
}
// Calls visit(place, value) for the first element of each line of a slice.
template <class Visit>
void for_each_line(const IndexSpace& space, const Visit& visit) {
  if (space.inner <= 1) {
    if (space.slice_count() > 0) visit(std::int64_t{0}, std::int64_t{0});
    return;
  }
  if (space.size[space.rank - 1] > 0) for_each_step(space, space.rank - space.inner, space.rank - 1, visit);
}

}  // namespace tutti::kernels
