// What follows a panel of an elimination: rows of the other columns are exchanged, and solved for U. A thread has a column.
#pragma once

#include "tutti/kernels/cuda/elimination_panel.cuh"
#include "tutti/kernels/cuda/large_matrix.cuh"

namespace tutti::kernels::cuda {

inline constexpr int column_threads = 64;  // one for each column

// What a panel did to the rows, done to the column that begins at a. `risen` are then the rows of the panel; they are not stored.
template <class T>
__device__ __forceinline__ void exchange_rows(T* a, std::int64_t lead, const RowOrder& order, Range panel,
                                              T (&risen)[block_size]) {
  int place[block_size];  // all is loaded before anything is stored
  T sunk[block_size];
#pragma unroll
  for (int k = 0; k < block_size; ++k) {
    risen[k] = T{0};
    place[k] = -1;
    if (k >= panel.size()) continue;
    place[k] = order.sunk[panel.first + k];
    risen[k] = a[order.risen[panel.first + k] * lead];
    sunk[k] = a[(panel.first + k) * lead];
  }
#pragma unroll
  for (int k = 0; k < block_size; ++k) {
    if (place[k] >= 0) a[place[k] * lead] = sunk[k];
  }
}
template <class T>
__device__ __forceinline__ void store_rows(T* a, std::int64_t lead, Range rows, const T (&x)[block_size]) {
#pragma unroll
  for (int k = 0; k < block_size; ++k) {
    if (k < rows.size()) a[(rows.first + k) * lead] = x[k];
  }
}

// What the panels of `width` columns among `panels` did to the rows, done to `columns`.
template <class T>
__global__ void __launch_bounds__(column_threads)
    exchange_kernel(LargeMatrices<T> matrices, Range panels, int width, Range columns, RowOrder all_orders) {
  const int j = columns.first + static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (j >= columns.last) return;
  for (std::int64_t at = blockIdx.z; at < matrices.count; at += gridDim.z) {
    T* const a = matrices.at(at) + j;
    const RowOrder order = all_orders.of(at);
    for (int first = panels.first; first < panels.last; first += width) {
      const Range panel{first, min(first + width, panels.last)};
      T rows[block_size];
      exchange_rows(a, matrices.lead, order, panel, rows);
      store_rows(a, matrices.lead, panel, rows);
    }
  }
}

// The triangle on the diagonal where `block` is, by columns; ones and zeros from its end on. All threads must call it.
template <class T>
using Triangle = T[block_size][block_size + 4];
template <class T>
__device__ __forceinline__ void take_triangle(Triangle<T>& triangle, const T* a, std::int64_t lead, Range block) {
  const int size = block.size();
  __syncthreads();  // the triangle before this one is done with
#pragma unroll
  for (int e = 0; e < block_size * block_size; e += column_threads) {
    const int i = (e + static_cast<int>(threadIdx.x)) / block_size;
    const int k = static_cast<int>(threadIdx.x) % block_size;
    triangle[k][i] = i < size && k < size ? a[(block.first + i) * lead + block.first + k] : T(i == k);
  }
  __syncthreads();
}

// x becomes the inverse of the triangle times itself: of the lower one, with ones on its diagonal, or the upper one.
template <bool is_upper, class T>
__device__ __forceinline__ void solve_triangle(const Triangle<T>& triangle, T (&x)[block_size]) {
  if constexpr (is_upper) {
#pragma unroll
    for (int k = block_size - 1; k >= 0; --k) {
      x[k] /= triangle[k][k];
#pragma unroll
      for (int i = 0; i < k; ++i) x[i] -= triangle[k][i] * x[k];
    }
  } else {
#pragma unroll
    for (int k = 0; k < block_size; ++k) {
#pragma unroll
      for (int i = k + 1; i < block_size; ++i) x[i] -= triangle[k][i] * x[k];
    }
  }
}

// The other columns of the block that a panel is in follow it: rows are exchanged, and to its right those of the panel solved.
template <class T>
__global__ void __launch_bounds__(column_threads)
    follow_kernel(LargeMatrices<T> matrices, Range panel, Range block, RowOrder all_orders) {
  __shared__ __align__(16) Triangle<T> triangle;
  const int j = block.first + static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const bool follows = j < block.last && (j < panel.first || j >= panel.last);
  for (std::int64_t at = blockIdx.z; at < matrices.count; at += gridDim.z) {
    T* const a = matrices.at(at);
    take_triangle(triangle, a, matrices.lead, panel);
    if (!follows) continue;
    T rows[block_size];
    exchange_rows(a + j, matrices.lead, all_orders.of(at), panel, rows);
    if (j >= panel.last) solve_triangle<false>(triangle, rows);
    store_rows(a + j, matrices.lead, panel, rows);
  }
}

// The rows of `block` in `columns` become the inverse of the triangle on the diagonal there times themselves.
template <class T, bool is_upper>
__global__ void __launch_bounds__(column_threads) triangle_kernel(LargeMatrices<T> matrices, Range block, Range columns) {
  __shared__ __align__(16) Triangle<T> triangle;
  const int j = columns.first + static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const bool is_in = j < columns.last;
  for (std::int64_t at = blockIdx.z; at < matrices.count; at += gridDim.z) {
    T* const a = matrices.at(at);
    T x[block_size];
#pragma unroll
    for (int k = 0; k < block_size; ++k) x[k] = k < block.size() && is_in ? a[(block.first + k) * matrices.lead + j] : T{0};
    take_triangle(triangle, a, matrices.lead, block);
    solve_triangle<is_upper>(triangle, x);
    if (is_in) store_rows(a + j, matrices.lead, block, x);
  }
}

}  // namespace tutti::kernels::cuda
