// An IndexSpace in the form that goes to a kernel by value, and how its slices are dealt out to threads.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "tutti/exec/index_space.h"
#include "tutti/kernels/cuda/launch.h"
#include "tutti/kernels/cuda/layout.h"
#include "tutti/kernels/cuda/row_axes.cuh"

namespace tutti::kernels::cuda {

inline constexpr int index_threads = 256;

inline constexpr int positions_in_flight = 4;  // positions whose indices a thread loads before it uses them

// The sizes, innermost first, that a number in row-major order is taken apart by.
struct Numbering {
  static constexpr std::int64_t few = std::int64_t{1} << 31U;  // numbers below it are divided in 32 bits

  int rank = 0;
  Divisor<std::uint32_t> divisor[most_axes];
  std::int64_t size[most_axes];

  void push_back(std::int64_t length) {
    divisor[rank] = Divisor<std::uint32_t>(length > 0 && length < few ? length : 1);
    size[rank++] = length;
  }
};

// Positions are those of the outer and the indexed axes together, in row-major order; a slice belongs to each. Axes of positions
// stand innermost first. A slot is the number of a place that positions can have, counted without gaps in the order of places.
struct IndexTask {
  std::int64_t count = 0;  // positions
  std::int64_t slots = 1;
  int indices = 0;
  bool is_small = true;  // fewer than 2^31 positions
  unsigned wide = 0;     // bit k: index tensor k holds int64
  Numbering positions;
  std::int64_t place[most_axes];
  std::int64_t value[most_axes];
  std::int64_t slot[most_axes];
  std::int64_t index[most_axes][most_axes];  // [index tensor][axis]
  const void* from[most_axes];               // the index tensors
  std::int64_t indexed_size[most_axes];
  std::int64_t indexed_stride[most_axes];
  std::int64_t indexed_slot[most_axes];
  int name[most_axes];
  tutti::cuda::Trap* trap = nullptr;

  std::int64_t slice = 1;  // elements of one
  RowAxes inner_place;
  RowAxes inner_value;
  std::int64_t chunk = 1;  // elements of a slice that one group of threads moves
  int lanes = 1;           // threads in a group, a power of two

  [[nodiscard]] bool is_dense() const { return inner_place.is_dense() && inner_value.is_dense(); }
};

// `indices`: the operands of the index tensors.
IndexTask index_task(const IndexSpace& space, const Operand* indices);

// Where slices are dense on both sides: counts in units of up to 16 bytes that all of them begin at and are a multiple of,
// instead of elements. `memory`: the first elements. Returns the bytes of a unit.
std::int64_t into_units(IndexTask& task, std::initializer_list<const void*> memory, std::int64_t element_bytes);

// Makes every unit of a slice a position of its own. Slots are none any more.
void into_single_units(IndexTask& task, const IndexSpace& space);

// Deals the slices out: sets lanes and chunk.
Grid deal_slices(IndexTask& task, const Queue& queue);

// Neighbouring positions go to one block, whose cache holds what they share.
struct Runs {
  Grid grid;
  std::int64_t length;
};
Runs deal_runs(std::int64_t count, const Queue& queue);

// Arms the queue's trap for indices out of range.
void arm_index_trap(IndexTask& task, Queue& queue);

}  // namespace tutti::kernels::cuda
