#include "tutti/kernels/cpu/index_places.h"

#include <algorithm>

#include "tutti/base/error.h"
#include "tutti/exec/index_message.h"
#include "tutti/kernels/cpu/reduction_rows.h"

namespace tutti::kernels {

namespace {

// Adds stride times the index to n places. False when one of the indices is out of range.
template <class T>
bool add_indices(const T* indices, std::int64_t step, std::int64_t n, const IndexSpace::Indexed& axis, std::int64_t* places) {
  // The sign bit of `wrong` ends up set if any index is above size - 1 or below -size.
  std::uint64_t wrong = 0;
  const auto end = static_cast<std::uint64_t>(axis.size);
  const auto stride = static_cast<std::uint64_t>(axis.stride);
  const auto add = [&](std::int64_t i, std::int64_t at) {
    const auto index = static_cast<std::uint64_t>(static_cast<std::int64_t>(indices[at]));
    wrong |= (end - 1 - index) | (index + end);
    const std::uint64_t from_front = index + (end & (0 - (index >> 63U)));
    places[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(places[i]) + from_front * stride);
  };
  if (step == 1) {
    for (std::int64_t i = 0; i < n; ++i) add(i, i);
  } else {
    for (std::int64_t i = 0; i < n; ++i) add(i, i * step);
  }
  return wrong >> 63U == 0;
}

template <class T>
[[noreturn]] void refuse(const T* indices, std::int64_t step, std::int64_t n, const IndexSpace::Indexed& axis, Site site) {
  std::int64_t i = 0;
  while (i + 1 < n && indices[i * step] >= -axis.size && indices[i * step] < axis.size) ++i;
  throw KernelFailed(index_out_of_range(indices[i * step], axis.axis, axis.size), site);
}

template <class T>
void add_checked(const Operand& from, std::int64_t offset, std::int64_t step, std::int64_t n, const IndexSpace::Indexed& axis,
                 std::int64_t* places, Site site) {
  const T* indices = from.as<T>() + offset;
  if (!add_indices(indices, step, n, axis, places)) refuse(indices, step, n, axis, site);
}

}  // namespace

template <class I>
bool check_indices(const I* indices, std::int64_t step, std::int64_t n, const IndexSpace::Indexed& axis, Site site) {
  I least = indices[0];
  I largest = indices[0];
  if (step == 1) {
    extremum_rows<I>().smallest.fold(indices, static_cast<std::size_t>(n), I{}, &least);
    extremum_rows<I>().largest.fold(indices, static_cast<std::size_t>(n), I{}, &largest);
  } else {
    for (std::int64_t i = 1; i < n; ++i) {
      least = std::min(least, indices[i * step]);
      largest = std::max(largest, indices[i * step]);
    }
  }
  if (least < -axis.size || largest >= axis.size) refuse(indices, step, n, axis, site);
  return least >= 0;
}
template bool check_indices(const std::int32_t*, std::int64_t, std::int64_t, const IndexSpace::Indexed&, Site);
template bool check_indices(const std::int64_t*, std::int64_t, std::int64_t, const IndexSpace::Indexed&, Site);

void locate(const IndexSpace& space, const Operand* indices, std::int64_t begin, std::int64_t n, PlaceBlock& block, Site site) {
  const std::size_t first = space.outer;
  const std::size_t last = space.rank - space.inner;
  std::array<std::int64_t, most_axes> at{};
  std::int64_t place = space.place_base;
  std::int64_t value = space.value_base;
  std::array<std::int64_t, most_axes> offset = space.index_base;
  std::int64_t rest = begin;
  for (std::size_t i = last; i-- > first;) {
    at[i] = rest % space.size[i];
    rest /= space.size[i];
    place += at[i] * space.place[i];
    value += at[i] * space.value[i];
    for (std::size_t k = 0; k < space.indices; ++k) offset[k] += at[i] * space.index[i][k];
  }
  const bool is_one = first == last;
  const std::size_t along = is_one ? first : last - 1;
  const std::int64_t place_step = is_one ? 0 : space.place[along];
  const std::int64_t value_step = is_one ? 0 : space.value[along];
  for (std::int64_t done = 0; done < n;) {
    const std::int64_t length = is_one ? 1 : std::min(space.size[along] - at[along], n - done);
    for (std::int64_t i = 0; i < length; ++i) {
      block.place[static_cast<std::size_t>(done + i)] = place + i * place_step;
      block.value[static_cast<std::size_t>(done + i)] = value + i * value_step;
    }
    std::int64_t* const places = block.place.data() + done;
    for (std::size_t k = 0; k < space.indices; ++k) {
      const std::int64_t step = is_one ? 0 : space.index[along][k];
      visit_dtype<index_dtypes>(indices[k].dtype, [&]<class I>(I) {
        add_checked<I>(indices[k], offset[k], step, length, space.indexed[k], places, site);
      });
    }
    done += length;
    if (done == n) return;
    // To the start of the next line: back along this axis, then on along those before it.
    const auto move = [&](std::size_t axis, std::int64_t steps) {
      place += steps * space.place[axis];
      value += steps * space.value[axis];
      for (std::size_t k = 0; k < space.indices; ++k) offset[k] += steps * space.index[axis][k];
    };
    move(along, -at[along]);
    at[along] = 0;
    for (std::size_t i = along; i-- > first;) {
      move(i, 1);
      if (++at[i] < space.size[i]) break;
      move(i, -space.size[i]);
      at[i] = 0;
    }
  }
}

}  // namespace tutti::kernels
