// Setting places of rows, each by indices of its own: a block learns in shared memory which position is the last to want each
// element of its row, and then writes the row once.
#pragma once

#include "tutti/kernels/cuda/scatter_combine.cuh"

namespace tutti::kernels::cuda {

inline constexpr int owned_row_threads = 512;
inline constexpr int owned_row_positions = 4;                 // of a thread, in flight
inline constexpr std::int64_t longest_owned_row = 12 * 1024;  // elements; a block has 48 KiB

// Where the elements of x lie that nobody wants; without them the output has them.
template <class Unit>
struct RowsOf {
  const Unit* x;
  std::int64_t row;
  std::int64_t column;
};

// The innermost axis of positions is that of the indices, the next one that of rows, which are contiguous.
template <class Unit, int threads = owned_row_threads, int in_flight = owned_row_positions>
__global__ void __launch_bounds__(threads) set_rows(const __grid_constant__ ScatterTask task, const RowsOf<Unit> rows) {
  extern __shared__ unsigned row_owner[];  // 1 + the position that writes it, or 0
  const IndexTask& space = task.space;
  const auto length = static_cast<std::uint32_t>(space.indexed_size[0]);
  const auto positions = static_cast<std::uint32_t>(space.positions.size[0]);
  const std::int64_t row = blockIdx.x;
  for (std::uint32_t i = threadIdx.x; i < length; i += threads) row_owner[i] = 0;
  __syncthreads();
  const std::int64_t indices = row * space.index[0][1];
  const std::int64_t size = space.indexed_size[0];
  for (std::uint32_t first = threadIdx.x; first < positions; first += threads * in_flight) {
    std::int64_t index[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      const std::uint32_t position = first + u * threads;
      const std::int64_t at = indices + (position < positions ? position : first) * space.index[0][0];
      index[u] = space.wide != 0 ? static_cast<const std::int64_t*>(space.from[0])[at]
                                 : std::int64_t{static_cast<const std::int32_t*>(space.from[0])[at]};
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      const std::uint32_t position = first + u * threads;
      if (position >= positions) break;
      if (index[u] >= -size && index[u] < size) {
        atomicMax(row_owner + (index[u] < 0 ? index[u] + size : index[u]), position + 1);
      } else {
        note(space.trap, static_cast<unsigned>(space.name[0]) + 1, index[u], size);
      }
    }
  }
  __syncthreads();
  const Unit* const values = static_cast<const Unit*>(task.values) + row * space.value[1];
  const Unit* const x = rows.x == nullptr ? nullptr : rows.x + row * rows.row;
  Unit* const out = static_cast<Unit*>(task.region) + row * size;
  for (std::uint32_t first = threadIdx.x; first < length; first += threads * in_flight) {
    Unit some[in_flight];
    bool is_written[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      const std::uint32_t target = first + u * threads;
      const unsigned owner = target < length ? row_owner[target] : 0;
      is_written[u] = target < length && (owner != 0 || x != nullptr);
      if (is_written[u]) some[u] = *(owner != 0 ? values + (owner - 1) * space.value[0] : x + target * rows.column);
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      if (is_written[u]) out[first + u * threads] = some[u];
    }
  }
}

}  // namespace tutti::kernels::cuda
