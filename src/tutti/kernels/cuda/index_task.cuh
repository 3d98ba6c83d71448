// Where a position of an IndexTask lies, once its indices are looked up.
#pragma once

#include "tutti/kernels/cuda/index_task.h"
#include "tutti/kernels/cuda/trap.cuh"

namespace tutti::kernels::cuda {

struct Located {
  std::int64_t place = 0;
  std::int64_t value = 0;
  std::int64_t slot = 0;
};

// False where an index is out of range: it is noted by those that say so, and nothing must be touched.
__device__ __forceinline__ bool locate(const IndexTask& task, std::int64_t position, bool notes, Located& at) {
  std::int64_t coordinate[most_axes];
  at = {};
  std::int64_t rest = position;
#pragma unroll
  for (int i = 0; i < static_cast<int>(most_axes); ++i) {
    if (i >= task.rank) break;
    std::int64_t here = rest;
    if (i + 1 < task.rank) {
      const std::int64_t above = task.is_small
                                     ? static_cast<std::int64_t>(task.divisor[i].quotient(static_cast<std::uint32_t>(rest)))
                                     : rest / task.size[i];
      here = rest - above * task.size[i];
      rest = above;
    }
    coordinate[i] = here;
    at.place += here * task.place[i];
    at.value += here * task.value[i];
    at.slot += here * task.slot[i];
  }
#pragma unroll
  for (int k = 0; k < static_cast<int>(most_axes); ++k) {
    if (k >= task.indices) break;
    std::int64_t offset = 0;
#pragma unroll
    for (int i = 0; i < static_cast<int>(most_axes); ++i) {
      if (i >= task.rank) break;
      offset += coordinate[i] * task.index[i][k];
    }
    const std::int64_t given = (task.wide >> k & 1U) != 0 ? static_cast<const std::int64_t*>(task.from[k])[offset]
                                                          : static_cast<const std::int32_t*>(task.from[k])[offset];
    const std::int64_t size = task.indexed_size[k];
    if (given < -size || given >= size) {
      if (notes) note(task.trap, static_cast<unsigned>(task.name[k]) + 1, given, size);
      return false;
    }
    const std::int64_t index = given < 0 ? given + size : given;
    at.place += index * task.indexed_stride[k];
    at.slot += index * task.indexed_slot[k];
  }
  return true;
}

// Where the values of a position begin.
__device__ __forceinline__ std::int64_t value_of(const IndexTask& task, std::int64_t position) {
  std::int64_t value = 0;
  std::int64_t rest = position;
#pragma unroll
  for (int i = 0; i < static_cast<int>(most_axes); ++i) {
    if (i >= task.rank) break;
    std::int64_t here = rest;
    if (i + 1 < task.rank) {
      const std::int64_t above = task.is_small
                                     ? static_cast<std::int64_t>(task.divisor[i].quotient(static_cast<std::uint32_t>(rest)))
                                     : rest / task.size[i];
      here = rest - above * task.size[i];
      rest = above;
    }
    value += here * task.value[i];
  }
  return value;
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
