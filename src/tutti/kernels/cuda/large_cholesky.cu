#include "tutti/kernels/cuda/large_cholesky.h"

#include "tutti/kernels/cuda/cholesky_report.cuh"
#include "tutti/kernels/cuda/large_product.cuh"

// The lower factor is worked out, 32 columns at a time: the corner on the diagonal, the rows below it, then what their product
// takes off the rest. The upper factor is its transpose.
namespace tutti::kernels::cuda {

namespace {

using tutti::cuda::Trap;

inline constexpr int panel_threads = 64;  // one for each row
inline constexpr int tile_rows = 8;       // of threads, in a tile of 32 x 32 elements

// What is on and below the diagonal, or, of the transpose, on and above it; 0 elsewhere.
template <class T>
__global__ void __launch_bounds__(block_size* tile_rows)
    take_triangle_kernel(LargeMatrices<T> matrices, const T* x, int n, bool upper) {
  __shared__ T tile[block_size][block_size + 1];
  const int top = static_cast<int>(blockIdx.y) * block_size;
  const int side = static_cast<int>(blockIdx.x) * block_size;
  if (side > top) return;
  const int lane = static_cast<int>(threadIdx.x) % block_size;
  const int first = static_cast<int>(threadIdx.x) / block_size;
  for (std::int64_t at = blockIdx.z; at < matrices.count; at += gridDim.z) {
    const T* const from = x + at * n * n;
    __syncthreads();
    for (int r = first; r < block_size; r += tile_rows) {  // `lane` along the rows of x
      const int i = (upper ? side : top) + r;
      const int j = (upper ? top : side) + lane;
      tile[r][lane] = i < n && j < n ? from[static_cast<std::int64_t>(i) * n + j] : T{0};
    }
    __syncthreads();
    for (int r = first; r < block_size; r += tile_rows) {
      const T value = upper ? tile[lane][r] : tile[r][lane];
      if (top + r < n) matrices.at(at)[(top + r) * matrices.lead + side + lane] = side + lane <= top + r ? value : T{0};
    }
  }
}

// The factor, with its corners, which lie by themselves: n rows of 32 for each matrix.
template <class T>
__global__ void __launch_bounds__(block_size* tile_rows)
    give_triangle_kernel(LargeMatrices<T> matrices, const T* corners, T* out, const std::int32_t* info, int n, bool upper) {
  __shared__ T tile[block_size][block_size + 1];
  const int top = static_cast<int>(blockIdx.y) * block_size;
  const int side = static_cast<int>(blockIdx.x) * block_size;
  const int lane = static_cast<int>(threadIdx.x) % block_size;
  const int first = static_cast<int>(threadIdx.x) / block_size;
  for (std::int64_t at = blockIdx.z; at < matrices.count; at += gridDim.z) {
    T* const to = out + at * n * n;
    const bool has_factor = info == nullptr || info[at] == 0;
    __syncthreads();
    for (int r = first; r < block_size; r += tile_rows) {  // `lane` along the rows of the lower factor
      T value = T{0};
      if (top + r < n) {
        if (side < top) value = matrices.at(at)[(top + r) * matrices.lead + side + lane];
        if (side == top) value = corners[(at * n + top + r) * block_size + lane];
      }
      tile[r][lane] = has_factor ? value : no_factor<T>;
    }
    __syncthreads();
    for (int r = first; r < block_size; r += tile_rows) {
      const int i = (upper ? side : top) + r;
      const int j = (upper ? top : side) + lane;
      if (i < n && j < n) to[static_cast<std::int64_t>(i) * n + j] = upper ? tile[lane][r] : tile[r][lane];
    }
  }
}

// 1 / sqrt(x) to about the last bit: a step of Newton's mends what the hardware leaves. A division by the root would hold up the
// whole column.
template <class T>
__device__ __forceinline__ T inverse_root(T x) {
  const T guess = rsqrt(x);
  const T rest = T{0.5} - T{0.5} * (x * guess) * guess;
  return fabs(rest) < T{1} ? guess + guess * rest : guess;  // of 0, infinity and NaN there is none
}

// The corner at `first` and the rows below it, 64 to a block. Every block works out the corner for itself: a launch less. It goes
// to `corners`, for the others may still be reading it.
template <class T>
__global__ void __launch_bounds__(panel_threads)
    cholesky_panel_kernel(LargeMatrices<T> matrices, T* corners, std::int32_t* info, int first, int n, Trap* trap) {
  __shared__ __align__(16) T corner[block_size][block_size + 4];  // by columns
  __shared__ T inverse[block_size];                               // of its diagonal
  const int thread = static_cast<int>(threadIdx.x);
  const int mine = first + block_size + static_cast<int>(blockIdx.x) * panel_threads + thread;
  for (std::int64_t at = blockIdx.z; at < matrices.count; at += gridDim.z) {
    T* const a = matrices.at(at) + first;
    T row[block_size];
    __syncthreads();  // the corner before this one is done with
    if (thread < block_size) {
      const int i = first + thread;
      load_line(row, a + (i < n ? i : first) * matrices.lead);
#pragma unroll
      for (int j = 0; j < block_size; ++j) {
        if (i >= n || j > thread) row[j] = T(j == thread);
      }
      int failed = 0;  // the order of the minor
#pragma unroll
      for (int k = 0; k < block_size; ++k) {
        const T left = __shfl_sync(~0U, row[k], k);
        if (failed == 0 && !(left > T{0})) failed = first + k + 1;
        const T by_root = inverse_root(left);
        if (thread == k) inverse[k] = by_root;
        row[k] = thread == k ? sqrt(left) : row[k] * by_root;
#pragma unroll
        for (int j = k + 1; j < block_size; ++j) row[j] -= row[k] * __shfl_sync(~0U, row[k], j);
      }
#pragma unroll
      for (int j = 0; j < block_size; ++j) {
        if (j > thread) row[j] = T{0};  // whatever the steps have left there
        corner[j][thread] = row[j];
      }
      if (blockIdx.x == 0 && i < n) store_line(corners + (at * n + i) * block_size, row);
      // The first minor counts: a panel that failed before this one has spoiled it.
      if (blockIdx.x == 0 && thread == 0 && (first == 0 || info == nullptr || info[at] == 0)) report(info, trap, at, failed);
    }
    __syncthreads();
    if (mine < n) {
      load_line(row, a + mine * matrices.lead);
#pragma unroll
      for (int k = 0; k < block_size; ++k) {
        row[k] *= inverse[k];
#pragma unroll
        for (int j = k + 1; j < block_size; ++j) row[j] -= row[k] * corner[k][j];
      }
      store_line(a + mine * matrices.lead, row);
    }
  }
}

}  // namespace

std::int64_t large_cholesky_bytes(std::int64_t count, std::int64_t n, std::int64_t element) {
  return count * n * (in_blocks(n) + block_size) * element;
}

template <class T>
void large_cholesky(Queue& queue, const KernelCall& call, const T* x, T* out, std::int32_t* info, std::int64_t count, int n,
                    bool upper, Trap* trap) {
  const std::int64_t lead = in_blocks(n);
  const LargeMatrices<T> all{reinterpret_cast<T*>(call.scratch().data), count, lead, lead * n};
  T* const corners = all.data + count * all.step;
  const unsigned blocks = parts_of(n, block_size);
  const Grid tiles = grid_over(blocks, blocks, count, block_size * tile_rows);
  launch<take_triangle_kernel<T>>(queue, call, tiles, all, x, n, upper);
  for (int first = 0; first < n; first += block_size) {
    const Range panel{first, std::min(first + block_size, n)};
    const Range rest{panel.last, n};
    const unsigned parts = std::max(1U, parts_of(rest.size(), panel_threads));
    launch<cholesky_panel_kernel<T>>(queue, call, grid_over(parts, 1, count, panel_threads), all, corners, info, first, n, trap);
    subtract_product<true>(queue, call, all, rest, rest, panel);
  }
  launch<give_triangle_kernel<T>>(queue, call, tiles, all, corners, out, info, n, upper);
}

template void large_cholesky(Queue&, const KernelCall&, const float*, float*, std::int32_t*, std::int64_t, int, bool, Trap*);
template void large_cholesky(Queue&, const KernelCall&, const double*, double*, std::int32_t*, std::int64_t, int, bool, Trap*);

}  // namespace tutti::kernels::cuda
