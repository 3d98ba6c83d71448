// Walks an IndexSpace on the host: where positions lie once their indices are looked up, and the slices that belong to them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tutti/exec/index_space.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

inline constexpr std::int64_t most_places = 1024;

// The places of up to most_places positions, and where their values lie.
struct PlaceBlock {
  std::array<std::int64_t, most_places> place;
  std::array<std::int64_t, most_places> value;
};

// Positions begin ... begin + n - 1 of the space. Throws KernelFailed for an index out of range.
void locate(const IndexSpace& space, const Operand* indices, std::int64_t begin, std::int64_t n, PlaceBlock& block, Site site);

// Calls visit(place, value) for the elements of the axes first ... last - 1 in row-major order.
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

// Throws KernelFailed unless all are in range; true if none counts from the end. Of int32 or int64.
template <class I>
bool check_indices(const I* indices, std::int64_t step, std::int64_t n, const IndexSpace::Indexed& axis, Site site);

inline constexpr std::int64_t longest_run = 1024;  // its indices are still near when they are used

// Positions that are contiguous, their indices known to be in range.
template <class I>
struct Run {
  const I* indices;
  std::int64_t n;
  std::int64_t place;  // of the first position; then the steps from one to the next
  std::int64_t value;
  std::int64_t place_step;
  std::int64_t value_step;
  std::int64_t index_step;
  std::int64_t size;    // of the indexed axis
  std::int64_t stride;  // along it
  bool are_forward;     // no index counts from the end

  // Calls visit(place, value) for one after the other.
  template <class Visit>
  void for_each(Visit visit) const {
    const Run run = *this;  // which nothing that visit writes can change
    if (run.are_forward && run.index_step == 1 && run.value_step == 1 && run.place_step == 0) {
      for (std::int64_t i = 0; i < run.n; ++i)
        visit(run.place + static_cast<std::int64_t>(run.indices[i]) * run.stride, run.value + i);
      return;
    }
    if (run.are_forward) {
      for (std::int64_t i = 0; i < run.n; ++i) {
        const auto index = static_cast<std::int64_t>(run.indices[i * run.index_step]);
        visit(run.place + i * run.place_step + index * run.stride, run.value + i * run.value_step);
      }
      return;
    }
    for (std::int64_t i = 0; i < run.n; ++i) {
      const auto index = static_cast<std::int64_t>(run.indices[i * run.index_step]);
      const std::int64_t from_front = index + (run.size & (index >> 63U));
      visit(run.place + i * run.place_step + from_front * run.stride, run.value + i * run.value_step);
    }
  }
};

// One index tensor, no outer axes, slices of one element: the case in which looking an index up costs as much as what is done
// with it, so that nothing is written down in between.
inline bool is_by_element(const IndexSpace& space) noexcept { return space.indices == 1 && space.outer == 0 && space.inner == 0; }
template <class I, class Visit>
void for_each_run(const IndexSpace& space, const Operand& indices, Site site, const Visit& visit) {
  const std::size_t along = space.rank == 0 ? 0 : space.rank - 1;
  const bool is_one = space.rank == 0;
  const std::int64_t length = is_one ? 1 : space.size[along];
  Run<I> run{};
  run.size = space.indexed[0].size;
  run.stride = space.indexed[0].stride;
  if (!is_one) {
    run.place_step = space.place[along];
    run.value_step = space.value[along];
    run.index_step = space.index[along][0];
  }
  const std::int64_t lines = space.count(0, along);
  std::array<std::int64_t, most_axes> at{};
  std::int64_t place = space.place_base;
  std::int64_t value = space.value_base;
  std::int64_t offset = space.index_base[0];
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t begin = 0; begin < length; begin += longest_run) {
      run.n = length - begin < longest_run ? length - begin : longest_run;
      run.indices = indices.as<I>() + offset + begin * run.index_step;
      run.place = place + begin * run.place_step;
      run.value = value + begin * run.value_step;
      run.are_forward = check_indices(run.indices, run.index_step, run.n, space.indexed[0], site);
      visit(run);
    }
    for (std::size_t axis = along; axis-- > 0;) {
      const bool is_at_end = ++at[axis] == space.size[axis];
      const std::int64_t steps = is_at_end ? 1 - space.size[axis] : 1;
      place += steps * space.place[axis];
      value += steps * space.value[axis];
      offset += steps * space.index[axis][0];
      if (!is_at_end) break;
      at[axis] = 0;
    }
  }
}
template <class Visit>
void for_each_run(const IndexSpace& space, const Operand& indices, Site site, const Visit& visit) {
  visit_dtype<index_dtypes>(indices.dtype, [&]<class I>(I) { for_each_run<I>(space, indices, site, visit); });
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
