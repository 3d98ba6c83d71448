// What a product of two parts of a large matrix takes off a third.
#pragma once

#include "tutti/kernels/cuda/large_matrix.cuh"

namespace tutti::kernels::cuda {

// Tiles of the result; each thread has 8 x 4 elements of one.
inline constexpr int product_tile = 64;
inline constexpr int product_threads = 128;
inline constexpr int product_depth = 32;
inline constexpr int product_line = product_depth / 4 + 1;  // one more: a column of quads then meets all banks

template <class T>
struct alignas(16) Quad {
  T elements[4];
};

// Rows from `first` on, columns from k on; 0 outside.
template <class T>
__device__ __forceinline__ void take_rows(Quad<T>* to, const T* a, std::int64_t lead, int first, int last, int k, int k_last) {
  for (int i = static_cast<int>(threadIdx.x); i < product_tile * product_depth / 4; i += product_threads) {
    const int row = i / (product_depth / 4);
    const int group = i % (product_depth / 4);
    Quad<T> quad;
    for (int e = 0; e < 4; ++e) {
      const int column = k + group * 4 + e;
      quad.elements[e] = first + row < last && column < k_last ? a[(first + row) * lead + column] : T{0};
    }
    to[row * product_line + group] = quad;
  }
}
// Columns from `first` on, rows from k on, transposed.
template <class T>
__device__ __forceinline__ void take_columns(Quad<T>* to, const T* a, std::int64_t lead, int first, int last, int k, int k_last) {
  for (int i = static_cast<int>(threadIdx.x); i < product_tile * product_depth / 4; i += product_threads) {
    const int column = i % product_tile;
    const int group = i / product_tile;
    Quad<T> quad;
    for (int e = 0; e < 4; ++e) {
      const int row = k + group * 4 + e;
      quad.elements[e] = first + column < last && row < k_last ? a[row * lead + first + column] : T{0};
    }
    to[column * product_line + group] = quad;
  }
}

// a[rows, columns] -= a[rows, inner] a[inner, columns]; or, of a symmetric matrix on and below the diagonal,
// a[rows, columns] -= a[rows, inner] a[columns, inner]^T.
template <class T, bool is_symmetric>
__global__ void __launch_bounds__(product_threads)
    subtract_product_kernel(LargeMatrices<T> matrices, Range rows, Range columns, Range inner) {
  __shared__ Quad<T> left[product_tile * product_line];
  __shared__ Quad<T> right[product_tile * product_line];
  const int top = rows.first + static_cast<int>(blockIdx.y) * product_tile;
  const int side = columns.first + static_cast<int>(blockIdx.x) * product_tile;
  if (is_symmetric && side >= top + product_tile) return;
  const int down = static_cast<int>(threadIdx.x) / 16;
  const int across = static_cast<int>(threadIdx.x) % 16;
  const std::int64_t lead = matrices.lead;
  for (std::int64_t at = blockIdx.z; at < matrices.count; at += gridDim.z) {
    T* const a = matrices.at(at);
    const auto is_mine = [&](int i, int j) { return i < rows.last && j < columns.last && (!is_symmetric || j <= i); };
    T rest[8][4];
#pragma unroll
    for (int r = 0; r < 8; ++r) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int i = top + down + 8 * r;
        const int j = side + across + 16 * c;
        rest[r][c] = is_mine(i, j) ? a[i * lead + j] : T{0};
      }
    }
    for (int k = inner.first; k < inner.last; k += product_depth) {
      __syncthreads();  // the tiles before these are done with
      take_rows(left, a, lead, top, rows.last, k, inner.last);
      if constexpr (is_symmetric) {
        take_rows(right, a, lead, side, columns.last, k, inner.last);
      } else {
        take_columns(right, a, lead, side, columns.last, k, inner.last);
      }
      __syncthreads();
#pragma unroll 2
      for (int group = 0; group < product_depth / 4; ++group) {
        Quad<T> y[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) y[c] = right[(across + 16 * c) * product_line + group];
#pragma unroll
        for (int r = 0; r < 8; ++r) {
          const Quad<T> x = left[(down + 8 * r) * product_line + group];
#pragma unroll
          for (int e = 0; e < 4; ++e) {
#pragma unroll
            for (int c = 0; c < 4; ++c) rest[r][c] -= x.elements[e] * y[c].elements[e];
          }
        }
      }
    }
#pragma unroll
    for (int r = 0; r < 8; ++r) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int i = top + down + 8 * r;
        const int j = side + across + 16 * c;
        if (is_mine(i, j)) a[i * lead + j] = rest[r][c];
      }
    }
  }
}

template <bool is_symmetric, class T>
void subtract_product(Queue& queue, const KernelCall& call, const LargeMatrices<T>& matrices, Range rows, Range columns,
                      Range inner) {
  if (rows.is_empty() || columns.is_empty()) return;
  launch<subtract_product_kernel<T, is_symmetric>>(
      queue, call,
      grid_over(parts_of(columns.size(), product_tile), parts_of(rows.size(), product_tile), matrices.count, product_threads),
      matrices, rows, columns, inner);
}

}  // namespace tutti::kernels::cuda
