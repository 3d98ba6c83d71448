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

}  // namespace tutti::kernels::cuda
