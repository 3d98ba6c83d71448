// Picking from dense rows most of whose elements are taken: a block brings rows into shared memory, in order, and picks there.
// Picked from memory, each element would cost a sector of 32 bytes.
#pragma once

#include <cuda_pipeline.h>

#include "tutti/kernels/cuda/index_task.cuh"
#include "tutti/kernels/cuda/pack.cuh"

namespace tutti::kernels::cuda {

inline constexpr int row_threads = 512;
inline constexpr std::int64_t longest_row = 48 * 1024;  // bytes; places in a row are kept in 16 bits

// The indices are those of the innermost axis of positions, the same for all rows: a thread looks its own up once for the rows of
// its block, of which `at_once` are in shared memory together. `elements` are a thread's; a row may have so many that several
// blocks (y) share them.
template <class Unit, int elements, int threads = row_threads>
__global__ void __launch_bounds__(threads)
    gather_from_rows(const __grid_constant__ IndexTask task, const Unit* x, Unit* out, std::uint32_t rows,
                     std::uint32_t rows_of_block, std::uint32_t at_once) {
  constexpr int width = pack_width<Unit>;
  constexpr int packs = elements / width;
  constexpr std::uint32_t apart = threads * width;
  extern __shared__ uint4 row_packs[];
  const auto length = static_cast<std::uint32_t>(task.positions.size[0]);
  const std::uint32_t first = blockIdx.y * (packs * apart) + threadIdx.x * width;
  const std::int64_t size = task.indexed_size[0];
  std::uint32_t places[packs][width / 2] = {};  // in bytes, two to a word
#pragma unroll
  for (int p = 0; p < packs; ++p) {
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const std::uint32_t position = first + p * apart + i;
      if (position >= length) continue;
      const std::int64_t at = position * task.index[0][0];
      std::int64_t index = task.wide != 0 ? static_cast<const std::int64_t*>(task.from[0])[at]
                                          : std::int64_t{static_cast<const std::int32_t*>(task.from[0])[at]};
      if (index < -size || index >= size) {
        note(task.trap, static_cast<unsigned>(task.name[0]) + 1, index, size);
        index = 0;  // what is left of the others does not matter
      }
      const auto place = static_cast<std::uint32_t>((index < 0 ? index + size : index) * sizeof(Unit));
      places[p][i / 2] |= place << (i % 2 * 16);
    }
  }
  const auto packs_of_row = static_cast<std::uint32_t>(size / width);
  const auto locate_row = [&](std::uint32_t row, const std::int64_t* strides) {
    const std::uint32_t number[1] = {row * length};
    std::int64_t offset = 0;
    take_apart(task.positions, number, [&](int, int axis, std::int64_t here) { offset += here * strides[axis]; });
    return offset;
  };
  const std::uint32_t begin = blockIdx.x * rows_of_block;
  const std::uint32_t end = begin + rows_of_block < rows ? begin + rows_of_block : rows;
#pragma unroll 1
  for (std::uint32_t row = begin; row < end; row += at_once) {
    const std::uint32_t present = at_once < end - row ? at_once : end - row;
    __syncthreads();  // who still picks from the rows before
#pragma unroll 1
    for (std::uint32_t k = 0; k < present; ++k) {
      const auto* const source = reinterpret_cast<const uint4*>(x + locate_row(row + k, task.place));
      for (std::uint32_t i = threadIdx.x; i < packs_of_row; i += threads)
        __pipeline_memcpy_async(row_packs + k * packs_of_row + i, source + i, sizeof(uint4));
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
#pragma unroll 1
    for (std::uint32_t k = 0; k < present; ++k) {
      const auto* const row_bytes = reinterpret_cast<const unsigned char*>(row_packs + k * packs_of_row);
      Unit* const to = out + locate_row(row + k, task.value) + first;
#pragma unroll
      for (int p = 0; p < packs; ++p) {
        if (first + p * apart >= length) break;
        Pack<Unit, width> pack;
#pragma unroll
        for (int i = 0; i < width; ++i)
          pack.lane[i] = *reinterpret_cast<const Unit*>(row_bytes + (places[p][i / 2] >> (i % 2 * 16) & 0xffffU));
        *reinterpret_cast<uint4*>(to + p * apart) = held(pack);
      }
    }
  }
}

// Whether the task is of that kind, in packs of 16 bytes.
template <class Unit>
bool picks_from_rows(const IndexTask& task, const Unit* x, const Unit* out) {
  constexpr std::int64_t shortest_row = 8 * 1024;  // bytes; what is taken of less lies in the cache
  constexpr std::int64_t fewest_rows = 256;
  constexpr std::int64_t fewest_of_row = 4;  // one element in so many, at the least, is taken
  constexpr std::int64_t width = pack_width<Unit>;
  const auto is_aligned = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address) % pack_bytes == 0; };
  if (task.indices != 1 || !task.is_small || task.positions.rank < 2 || !is_aligned(x) || !is_aligned(out)) return false;
  const std::int64_t taken = task.positions.size[0];
  const std::int64_t size = task.indexed_size[0];
  const std::int64_t row = size * static_cast<std::int64_t>(sizeof(Unit));
  if (task.place[0] != 0 || task.value[0] != 1 || task.indexed_stride[0] != 1 || taken % width != 0) return false;
  if (row < shortest_row || row > longest_row || row % pack_bytes != 0) return false;
  if (taken * fewest_of_row < size || task.count < taken * fewest_rows) return false;
  for (int i = 1; i < task.positions.rank; ++i) {
    if (task.index[0][i] != 0 || task.place[i] % width != 0 || task.value[i] % width != 0) return false;
  }
  return true;
}

}  // namespace tutti::kernels::cuda
