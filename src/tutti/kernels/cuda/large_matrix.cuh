// Matrices too large for the shared memory of a block: they lie in scratch memory, and every step is a launch over all of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

inline constexpr int block_size = 32;  // columns that are worked out before the rest of the matrix sees them

struct Range {
  int first = 0;
  int last = 0;
  [[nodiscard]] __host__ __device__ int size() const { return last - first; }
  [[nodiscard]] bool is_empty() const { return last <= first; }
};

// By rows. Those begin at multiples of `block_size` elements, so that a block of them can be loaded in words of 16 bytes.
template <class T>
struct LargeMatrices {
  T* data = nullptr;
  std::int64_t count = 0;
  std::int64_t lead = 0;  // from one row to the next
  std::int64_t step = 0;  // from one matrix to the next
  [[nodiscard]] __device__ __forceinline__ T* at(std::int64_t matrix) const { return data + matrix * step; }
};

inline std::int64_t in_blocks(std::int64_t n) { return (n + block_size - 1) / block_size * block_size; }
inline unsigned parts_of(std::int64_t n, int size) { return static_cast<unsigned>((n + size - 1) / size); }
// Matrices along z; kernels step over those that do not fit.
inline Grid grid_over(unsigned across, unsigned down, std::int64_t count, int threads) {
  return {dim3(across, down, static_cast<unsigned>(std::min<std::int64_t>(count, 65535))), dim3(static_cast<unsigned>(threads))};
}

template <class T>
struct alignas(16) Word {
  static constexpr int size = 16 / static_cast<int>(sizeof(T));
  T elements[size];
};
// From the word on that holds element `skipped`.
template <class T, int Count>
__device__ __forceinline__ void store_line(T* to, const T (&from)[Count], int skipped = 0) {
#pragma unroll
  for (int j = skipped / Word<T>::size * Word<T>::size; j < Count; j += Word<T>::size) {
    Word<T> word;
#pragma unroll
    for (int e = 0; e < Word<T>::size; ++e) word.elements[e] = from[j + e];
    *reinterpret_cast<Word<T>*>(to + j) = word;
  }
}
template <class T, int Count>
__device__ __forceinline__ void load_line(T (&to)[Count], const T* from) {
#pragma unroll
  for (int j = 0; j < Count; j += Word<T>::size) {
    const Word<T> word = *reinterpret_cast<const Word<T>*>(from + j);
#pragma unroll
    for (int e = 0; e < Word<T>::size; ++e) to[j + e] = word.elements[e];
  }
}

// A product of two parts of a matrix, in tiles of 64 x 64 of the result; each thread has 8 x 4 of them.
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
