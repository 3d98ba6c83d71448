// What the decompositions share: one block works on one matrix at a time, in shared memory if it fits there.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

inline constexpr std::int64_t most_shared_bytes = 44 * 1024;  // of 48 KiB; the rest is for reductions

struct Batch2D {
  std::int64_t count = 1;  // matrices
  int rows = 0;
  int columns = 0;
};

// The last two axes, and how many there are of them.
inline Batch2D matrices_of(const Operand& x) {
  Batch2D out;
  const std::int64_t rows = x.axes[x.rank - 2U].size;
  const std::int64_t columns = x.axes[x.rank - 1U].size;
  constexpr std::int64_t most = std::numeric_limits<int>::max() / 2;
  out.rows = static_cast<int>(std::min(rows, most));
  out.columns = static_cast<int>(std::min(columns, most));
  for (std::size_t i = 0; i + 2U < x.rank; ++i) out.count *= x.axes[i].size;
  return out;
}

inline Batch2D matrices_of(const Operand& x, const KernelCall& call) {
  const Batch2D out = matrices_of(x);
  const std::int64_t rows = x.axes[x.rank - 2U].size;
  const std::int64_t columns = x.axes[x.rank - 1U].size;
  if (out.rows != rows || out.columns != columns)
    throw KernelFailed(text("matrices of ", rows, " x ", columns, " are too large"), call.site);
  return out;
}

// Where a block works: `bytes` for each matrix, in shared memory, or in the call's scratch where that is too small.
struct Room {
  std::byte* scratch = nullptr;  // null: shared
  std::int64_t bytes = 0;

  [[nodiscard]] static std::int64_t rounded(std::int64_t bytes) { return (bytes + 15) / 16 * 16; }
  // For each matrix.
  [[nodiscard]] static std::int64_t scratch_bytes(std::int64_t bytes, std::int64_t count) {
    return rounded(bytes) <= most_shared_bytes ? 0 : rounded(bytes) * count;
  }
  [[nodiscard]] static Room of(const KernelCall& call, std::int64_t bytes) {
    const bool is_shared = rounded(bytes) <= most_shared_bytes;
    return {is_shared ? nullptr : call.scratch().data, rounded(bytes)};
  }
  [[nodiscard]] unsigned shared_bytes() const { return scratch == nullptr ? static_cast<unsigned>(bytes) : 0U; }
  [[nodiscard]] __device__ __forceinline__ std::byte* at(std::int64_t matrix, std::byte* shared) const {
    return scratch == nullptr ? shared : scratch + matrix * bytes;
  }
};

inline constexpr int most_block_threads = 1024;

// A warp for the smallest matrices, more threads for larger ones.
inline Grid grid_of(std::int64_t count, std::int64_t longest_side, unsigned shared_bytes) {
  const unsigned threads = longest_side <= 16 ? 32 : longest_side <= 40 ? 128 : longest_side <= 100 ? 256 : most_block_threads;
  return {dim3(static_cast<unsigned>(std::min<std::int64_t>(count, 1 << 30))), dim3(threads), shared_bytes};
}

// The threads of a block dealt out over rows and columns of a matrix: `across` of them, a power of two, side by side.
struct Deal {
  int across;
  int down;
  int column;  // this thread's first
  int row;
  __device__ __forceinline__ explicit Deal(int columns) {
    across = 1;
    while (across < columns && across < 32) across *= 2;
    down = static_cast<int>(blockDim.x) / across;
    column = static_cast<int>(threadIdx.x) % across;
    row = static_cast<int>(threadIdx.x) / across;
  }
};

// The largest by `key`, which is no NaN, and of equals the first; for every thread of the block. All must call it.
template <class T>
struct Largest {
  T key;
  int at;
};
template <class T>
__device__ __forceinline__ Largest<T> larger_of(const Largest<T>& a, const Largest<T>& b) {
  return b.key > a.key || (b.key == a.key && b.at < a.at) ? b : a;
}
template <class T>
__device__ __forceinline__ Largest<T> block_largest(Largest<T> mine) {
  __shared__ Largest<T> parts[32];
  for (int step = 16; step > 0; step /= 2) {
    const Largest<T> other{__shfl_xor_sync(~0U, mine.key, step), __shfl_xor_sync(~0U, mine.at, step)};
    mine = larger_of(mine, other);
  }
  const int warps = static_cast<int>(blockDim.x) / 32;
  if (warps == 1) return mine;
  __syncthreads();  // the last call's parts have been read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mine;
  __syncthreads();
  Largest<T> all = parts[0];
  for (int i = 1; i < warps; ++i) all = larger_of(all, parts[i]);
  return all;
}

template <class T>
__device__ __forceinline__ T warp_sum(T mine) {
  for (int step = 16; step > 0; step /= 2) mine += __shfl_xor_sync(~0U, mine, step);
  return mine;
}
// In an order that depends on nothing but the number of threads; for every thread of the block. All must call it.
template <class T>
__device__ __forceinline__ T block_sum(T mine) {
  __shared__ T parts[32];
  mine = warp_sum(mine);
  const int warps = static_cast<int>(blockDim.x) / 32;
  if (warps == 1) return mine;
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mine;
  __syncthreads();
  T all = parts[0];
  for (int i = 1; i < warps; ++i) all += parts[i];
  return all;
}

template <class T>
__device__ __forceinline__ void block_copy(T* to, const T* from, std::int64_t n) {
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i];
}

}  // namespace tutti::kernels::cuda
