// Where a position of an IndexTask lies, once its indices are looked up.
#pragma once

#include "tutti/kernels/cuda/index_task.h"
#include "tutti/kernels/cuda/trap.cuh"

namespace tutti::kernels::cuda {

// Calls visit(u, axis, coordinate) for each axis of each number.
template <class Index, int n, class Visit>
__device__ __forceinline__ void take_apart(const Numbering& axes, const Index (&number)[n], const Visit& visit) {
  Index rest[n];
#pragma unroll
  for (int u = 0; u < n; ++u) rest[u] = number[u];
#pragma unroll 1
  for (int i = 0; i < axes.rank; ++i) {
    const bool is_last = i + 1 == axes.rank;
#pragma unroll
    for (int u = 0; u < n; ++u) {
      Index here = rest[u];
      if (!is_last) {
        if constexpr (sizeof(Index) == 4) {
          rest[u] = axes.divisor[i].quotient(here);
        } else {
          rest[u] = here / static_cast<Index>(axes.size[i]);
        }
        here -= rest[u] * static_cast<Index>(axes.size[i]);
      }
      visit(u, i, static_cast<std::int64_t>(here));
    }
  }
}

// Calls visit(u, k, index) for the indices of positions that are in, in 0 ... size - 1. A position with one out of range is in no
// longer; it is noted by those that say so.
template <class Index, int n, class Visit>
__device__ __forceinline__ void look_up(const IndexTask& task, const Index (&position)[n], bool notes, bool (&is_in)[n],
                                        const Visit& visit) {
#pragma unroll 1
  for (int k = 0; k < task.indices; ++k) {
    std::int64_t at[n] = {};
    take_apart(task.positions, position, [&](int u, int axis, std::int64_t here) { at[u] += here * task.index[k][axis]; });
    std::int64_t given[n];
    if ((task.wide >> k & 1U) != 0) {
#pragma unroll
      for (int u = 0; u < n; ++u) given[u] = static_cast<const std::int64_t*>(task.from[k])[at[u]];
    } else {
#pragma unroll
      for (int u = 0; u < n; ++u) given[u] = static_cast<const std::int32_t*>(task.from[k])[at[u]];
    }
    const std::int64_t size = task.indexed_size[k];
#pragma unroll
    for (int u = 0; u < n; ++u) {
      if (!is_in[u]) continue;
      is_in[u] = given[u] >= -size && given[u] < size;
      if (is_in[u]) {
        visit(u, k, given[u] < 0 ? given[u] + size : given[u]);
      } else if (notes) {
        note(task.trap, static_cast<unsigned>(task.name[k]) + 1, given[u], size);
      }
    }
  }
}

// The positions that a thread looks at together, from `first` on; those at `end` or after it are not in, and stand for `first`.
template <class Index>
__device__ __forceinline__ void number_tile(Index first, Index end, Index (&position)[positions_in_flight],
                                            bool (&is_in)[positions_in_flight]) {
#pragma unroll
  for (int u = 0; u < positions_in_flight; ++u) {
    const Index at = first + static_cast<Index>(u * index_threads);
    is_in[u] = at < end;
    position[u] = is_in[u] ? at : first;
  }
}

struct Located {
  std::int64_t place = 0;
  std::int64_t value = 0;
  std::int64_t slot = 0;
};

template <class Index>
__device__ __forceinline__ bool locate_as(const IndexTask& task, std::int64_t position, bool notes, Located& at) {
  const Index one[1] = {static_cast<Index>(position)};
  bool is_in[1] = {true};
  at = {};
  take_apart(task.positions, one, [&](int, int axis, std::int64_t here) {
    at.place += here * task.place[axis];
    at.value += here * task.value[axis];
    at.slot += here * task.slot[axis];
  });
  look_up(task, one, notes, is_in, [&](int, int k, std::int64_t index) {
    at.place += index * task.indexed_stride[k];
    at.slot += index * task.indexed_slot[k];
  });
  return is_in[0];
}

// False where an index is out of range: nothing must be touched.
__device__ __forceinline__ bool locate(const IndexTask& task, std::int64_t position, bool notes, Located& at) {
  return task.is_small ? locate_as<std::uint32_t>(task, position, notes, at)
                       : locate_as<std::uint64_t>(task, position, notes, at);
}

template <class Index>
__device__ __forceinline__ std::int64_t value_as(const IndexTask& task, std::int64_t position) {
  const Index one[1] = {static_cast<Index>(position)};
  std::int64_t value = 0;
  take_apart(task.positions, one, [&](int, int axis, std::int64_t here) { value += here * task.value[axis]; });
  return value;
}

// Where the values of a position begin.
__device__ __forceinline__ std::int64_t value_of(const IndexTask& task, std::int64_t position) {
  return task.is_small ? value_as<std::uint32_t>(task, position) : value_as<std::uint64_t>(task, position);
}

// A group of threads' share of the slices: call from a kernel started on deal_slices().
struct Share {
  std::int64_t first;  // position
  std::int64_t step;
  std::int64_t begin;  // of the slice
  std::int64_t end;
  int lane;
};
__device__ __forceinline__ Share share_of(const IndexTask& task) {
  const int per_block = index_threads / task.lanes;
  const std::int64_t begin = blockIdx.y * task.chunk;
  return {static_cast<std::int64_t>(blockIdx.x) * per_block + static_cast<int>(threadIdx.x) / task.lanes,
          static_cast<std::int64_t>(gridDim.x) * per_block, begin,
          begin + task.chunk < task.slice ? begin + task.chunk : task.slice, static_cast<int>(threadIdx.x) & (task.lanes - 1)};
}

}  // namespace tutti::kernels::cuda
