// A few columns of a large matrix eliminated by one block, or several that run together, which hold them in their registers: a
// thread has whole rows of them.
#pragma once

#include <limits>

#include "tutti/kernels/cuda/block_matrix.cuh"
#include "tutti/kernels/cuda/cluster.cuh"
#include "tutti/kernels/cuda/large_matrix.cuh"
#include "tutti/kernels/cuda/trap.cuh"

namespace tutti::kernels::cuda {

// What a panel did to the rows, for each of its columns; for the columns outside it to follow. n of each for a matrix.
struct RowOrder {
  int* pivots = nullptr;  // the row that was exchanged with this one, in the step of this column
  int* risen = nullptr;   // where the row that is now here was before the panel
  int* sunk = nullptr;    // where the row that was here is now, if that is below the panel; otherwise -1
  int n = 0;
  [[nodiscard]] __device__ __forceinline__ RowOrder of(std::int64_t matrix) const {
    return {pivots + matrix * n, risen + matrix * n, sunk + matrix * n, n};
  }
};

inline constexpr int nowhere = std::numeric_limits<int>::max();

// For every lane. A key is -1, or at least 0.
__device__ __forceinline__ Largest<float> warp_largest(const Largest<float>& mine) {
  const int key = __float_as_int(mine.key);  // in the order of the numbers
  const int most = __reduce_max_sync(~0U, key);
  return {__int_as_float(most), __reduce_min_sync(~0U, key == most ? mine.at : nowhere)};
}
__device__ __forceinline__ Largest<double> warp_largest(Largest<double> mine) {
  for (int step = 16; step > 0; step /= 2)
    mine = larger_of(mine, {__shfl_xor_sync(~0U, mine.key, step), __shfl_xor_sync(~0U, mine.at, step)});
  return mine;
}

__device__ __forceinline__ int first_lane(bool is_it) { return __ffs(static_cast<int>(__ballot_sync(~0U, is_it))) - 1; }

// Columns `first` to `first + width`, at most Width of them, from row `first` on: no more than Rows for each thread of the
// blocks. Rows stay where they are; `place` says where they belong.
template <class T, int Width, int Rows, int Blocks>
__device__ __forceinline__ void eliminate_columns(const LargeMatrices<T>& matrices, int first, int width,
                                                  const RowOrder& all_orders, tutti::cuda::Trap* trap) {
  // Every warp's best row, and every block's. Of each two: what was written for one column is read while the next one's is
  // written.
  __shared__ Largest<T> best[2][32];
  __shared__ __align__(16) T best_row[2][32][Width];
  __shared__ Largest<T> block_best[2][Blocks];
  __shared__ __align__(16) T block_row[2][Blocks][Width];
  const Cluster<Blocks> cluster;
  const int n = all_orders.n;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const int lane = thread % 32;
  const int warp = thread / 32;
  const int warps = threads / 32;
  const int mine_first = first + cluster.rank() * threads + thread;
  for (std::int64_t at = blockIdx.z; at < matrices.count; at += gridDim.z) {
    T* const a = matrices.at(at) + first;
    const RowOrder order = all_orders.of(at);
    T row[Rows][Width];
    int place[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      place[r] = mine_first + r * Blocks * threads;
      load_line(row[r], a + (place[r] < n ? place[r] : first) * matrices.lead);
    }
    cluster.sync();  // all blocks run, have read their rows, and are done with the matrix before this one
    bool is_singular = false;
#pragma unroll
    for (int k = 0; k < Width; ++k) {
      if (k >= width) break;
      Largest<T> mine{T{-1}, nowhere};
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        if (place[r] < first + k || place[r] >= n) continue;
        const T size = fabs(row[r][k]);
        mine = larger_of(mine, {isnan(size) ? T{-1} : size, place[r]});
      }
      mine = warp_largest(mine);
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        if (place[r] == mine.at) store_line(best_row[k % 2][warp], row[r], k);
      }
      if (lane == 0) best[k % 2][warp] = mine;
      __syncthreads();
      const Largest<T> none{T{-1}, nowhere};
      Largest<T> candidate = lane < warps ? best[k % 2][lane] : none;
      Largest<T> found = warp_largest(candidate);
      const T* pivot_row = best_row[k % 2][first_lane(candidate.at == found.at)];
      if constexpr (Blocks > 1) {
        for (int to = warp; to < Blocks; to += warps) {
          if (lane < Width) cluster.in_block(to, block_row[k % 2][cluster.rank()])[lane] = pivot_row[lane];
          if (lane == 0) *cluster.in_block(to, &block_best[k % 2][cluster.rank()]) = found;
        }
        cluster.sync();
        candidate = lane < Blocks ? block_best[k % 2][lane] : none;
        found = warp_largest(candidate);
        pivot_row = block_row[k % 2][first_lane(candidate.at == found.at)];
      }
      const int pivot = found.at;
      const T divisor = pivot_row[k];
      if (mine_first == first) order.pivots[first + k] = pivot;
      is_singular = is_singular || divisor == T{0};
      T factor[Rows];
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        if (place[r] == pivot) {
          place[r] = first + k;
        } else if (place[r] == first + k) {
          place[r] = pivot;
        }
        const bool is_left = place[r] > first + k && divisor != T{0};
        factor[r] = is_left ? row[r][k] / divisor : T{0};
        if (is_left) row[r][k] = factor[r];
      }
#pragma unroll
      for (int j = k + 1; j < Width; ++j) {
        const T value = pivot_row[j];
#pragma unroll
        for (int r = 0; r < Rows; ++r) row[r][j] -= factor[r] * value;
      }
    }
    if (is_singular && mine_first == first && trap != nullptr) note(trap, 1, at, 0);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const int before = mine_first + r * Blocks * threads;
      if (before >= n) continue;
      store_line(a + place[r] * matrices.lead, row[r]);
      if (place[r] < first + width) order.risen[place[r]] = before;
      if (before < first + width) order.sunk[before] = place[r] >= first + width ? place[r] : -1;
    }
  }
}

template <class T, int Width, int Rows>
__global__ void __launch_bounds__(most_block_threads)
    panel_kernel(LargeMatrices<T> matrices, int first, int width, RowOrder orders, tutti::cuda::Trap* trap) {
  eliminate_columns<T, Width, Rows, 1>(matrices, first, width, orders, trap);
}

inline constexpr int panel_blocks = 8;  // as many as any GPU that has clusters runs together

template <class T, int Width, int Rows>
__global__ void TUTTI_CLUSTER_OF(panel_blocks) __launch_bounds__(most_block_threads)
    wide_panel_kernel(LargeMatrices<T> matrices, int first, int width, RowOrder orders, tutti::cuda::Trap* trap) {
  if constexpr (runs_clusters) eliminate_columns<T, Width, Rows, panel_blocks>(matrices, first, width, orders, trap);
}

// One column of so many rows that no block can hold them.
template <class T>
__global__ void __launch_bounds__(most_block_threads)
    column_kernel(LargeMatrices<T> matrices, int first, RowOrder all_orders, tutti::cuda::Trap* trap) {
  const int n = all_orders.n;
  const int threads = static_cast<int>(blockDim.x);
  for (std::int64_t at = blockIdx.z; at < matrices.count; at += gridDim.z) {
    T* const a = matrices.at(at) + first;
    const RowOrder order = all_orders.of(at);
    Largest<T> mine{T{-1}, n};
    for (int i = first + static_cast<int>(threadIdx.x); i < n; i += threads) {
      const T size = fabs(a[i * matrices.lead]);
      if (size > mine.key) mine = {size, i};
    }
    const Largest<T> found = block_largest(mine);
    const int pivot = found.at < n ? found.at : first;  // nothing compares in a column of NaN
    const T divisor = a[pivot * matrices.lead];
    const T sunk = a[first * matrices.lead];
    __syncthreads();  // all have read them
    for (int i = first + 1 + static_cast<int>(threadIdx.x); i < n; i += threads) {
      const T value = i == pivot ? sunk : a[i * matrices.lead];
      a[i * matrices.lead] = divisor == T{0} ? value : value / divisor;
    }
    if (threadIdx.x != 0) continue;
    a[first * matrices.lead] = divisor;
    order.pivots[first] = pivot;
    order.risen[first] = pivot;
    order.sunk[first] = pivot == first ? -1 : pivot;
    if (divisor == T{0} && trap != nullptr) note(trap, 1, at, 0);
  }
}

}  // namespace tutti::kernels::cuda
