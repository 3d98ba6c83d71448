// What a gather or a scatter moves: positions that each have a place on the side that indices point into and one on the side
// that is walked in order (the output of a gather, the values of a scatter).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tutti/exec/kernel.h"

namespace tutti {

// The axes stand in the order of the walked side; those of size 1 are left out and neighbours that step alike are joined. The
// first `outer` and the last `inner` of them move no index and keep places apart; those between are the positions that indices
// belong to. Strides are in elements.
struct IndexSpace {
  struct Indexed {
    std::int64_t size;
    std::int64_t stride;
    std::int64_t axis;  // as the caller counts
  };

  std::size_t rank = 0;
  std::size_t outer = 0;
  std::size_t inner = 0;
  std::size_t indices = 0;  // index tensors
  std::int64_t place_base = 0;
  std::int64_t value_base = 0;
  std::array<std::int64_t, most_axes> index_base{};
  std::array<std::int64_t, most_axes> size;
  std::array<std::int64_t, most_axes> place;                         // strides on the side indices point into
  std::array<std::int64_t, most_axes> value;                         // strides on the side walked in order
  std::array<std::array<std::int64_t, most_axes>, most_axes> index;  // [axis][index tensor]
  std::array<Indexed, most_axes> indexed;

  // Elements of the axes first ... last - 1.
  [[nodiscard]] std::int64_t count(std::size_t first, std::size_t last) const noexcept {
    std::int64_t n = 1;
    for (std::size_t i = first; i < last; ++i) n *= size[i];
    return n;
  }
  [[nodiscard]] std::int64_t outer_count() const noexcept { return count(0, outer); }
  [[nodiscard]] std::int64_t position_count() const noexcept { return count(outer, rank - inner); }
  [[nodiscard]] std::int64_t slice_count() const noexcept { return count(rank - inner, rank); }

  // The part of an axis from begin to before end.
  [[nodiscard]] IndexSpace part(std::size_t axis, std::int64_t begin, std::int64_t end) const noexcept;
};

// GatherV2, GatherNd: the operand's axes first ... first + k - 1 are indexed by k tensors of one shape.
IndexSpace gather_space(const KernelCall& call, std::size_t first, std::span<const std::int8_t> names);
// TakeAlongAxis.
IndexSpace along_space(const KernelCall& call, std::size_t axis);
// TensorScatter*: places are relative to the region's first element.
IndexSpace scatter_space(const KernelCall& call);

}  // namespace tutti
