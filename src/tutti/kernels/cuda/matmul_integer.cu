#include "tutti/kernels/cuda/matmul_integer.h"

#include <algorithm>
#include <type_traits>

#include "tutti/kernels/cuda/row_axes.cuh"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels::cuda {

namespace {

constexpr int side = 16;       // threads along each side of a block
constexpr int per_thread = 4;  // results of a thread along each side
constexpr int tile = side * per_thread;
constexpr int depth = 16;

struct Matrix {
  const void* data;
  std::int64_t row_stride;
  std::int64_t column_stride;
  RowAxes batch;
};

struct ProductTask {
  Matrix a;
  Matrix b;
  void* c;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t tiles_across;
  std::int64_t tiles_down;
  std::int64_t batch;
};

template <class T>
using Sum = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;

template <class T>
__device__ __forceinline__ T finished(Sum<T> sum) {
  if constexpr (std::is_same_v<T, bool>) {
    return sum != 0;
  } else {
    return static_cast<T>(sum);
  }
}

template <class T>
__global__ void __launch_bounds__(side* side) multiply_tiles(const __grid_constant__ ProductTask task) {
  __shared__ Sum<T> left[depth][tile + 1];
  __shared__ Sum<T> right[depth][tile + 1];
  const auto thread = static_cast<int>(threadIdx.x);
  const int x = thread % side;
  const int y = thread / side;
  const std::int64_t jobs = task.tiles_across * task.tiles_down * task.batch;
  for (std::int64_t job = blockIdx.x; job < jobs; job += gridDim.x) {
    const std::int64_t column = job % task.tiles_across * tile;
    const std::int64_t row = job / task.tiles_across % task.tiles_down * tile;
    const std::int64_t which = job / task.tiles_across / task.tiles_down;
    const T* a = static_cast<const T*>(task.a.data) + offset_of(task.a.batch, which);
    const T* b = static_cast<const T*>(task.b.data) + offset_of(task.b.batch, which);
    Sum<T> sums[per_thread][per_thread] = {};
    for (std::int64_t inner = 0; inner < task.k; inner += depth) {
      for (int i = thread; i < tile * depth; i += side * side) {
        const std::int64_t a_row = row + i / depth;
        const std::int64_t a_column = inner + i % depth;
        const bool has_a = a_row < task.m && a_column < task.k;
        left[i % depth][i / depth] =
            has_a ? static_cast<Sum<T>>(a[a_row * task.a.row_stride + a_column * task.a.column_stride]) : 0;
        const std::int64_t b_row = inner + i / tile;
        const std::int64_t b_column = column + i % tile;
        const bool has_b = b_row < task.k && b_column < task.n;
        right[i / tile][i % tile] =
            has_b ? static_cast<Sum<T>>(b[b_row * task.b.row_stride + b_column * task.b.column_stride]) : 0;
      }
      __syncthreads();
#pragma unroll
      for (int l = 0; l < depth; ++l) {
#pragma unroll
        for (int i = 0; i < per_thread; ++i) {
#pragma unroll
          for (int j = 0; j < per_thread; ++j) sums[i][j] += left[l][y + i * side] * right[l][x + j * side];
        }
      }
      __syncthreads();
    }
    T* c = static_cast<T*>(task.c) + which * task.m * task.n;
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
#pragma unroll
      for (int j = 0; j < per_thread; ++j) {
        const std::int64_t to_row = row + y + i * side;
        const std::int64_t to_column = column + x + j * side;
        if (to_row < task.m && to_column < task.n) c[to_row * task.n + to_column] = finished<T>(sums[i][j]);
      }
    }
  }
}

Matrix matrix_of(const Operand& operand) {
  const std::size_t rank = operand.rank;
  return {operand.data, operand.axes[rank - 2].stride, operand.axes[rank - 1].stride, row_axes(operand, 0, rank - 2)};
}

constexpr DTypes whole_dtypes = integer_dtypes | boolean_dtype;

}  // namespace

void multiply_integers(const KernelCall& call, Queue& queue) {
  const Operand& c = call.out();
  const std::size_t rank = c.rank;
  ProductTask task{};
  task.a = matrix_of(call.in(0));
  task.b = matrix_of(call.in(1));
  task.c = c.data;
  task.m = c.axes[rank - 2].size;
  task.n = c.axes[rank - 1].size;
  task.k = call.in(0).axes[rank - 1].size;
  task.tiles_across = (task.n + tile - 1) / tile;
  task.tiles_down = (task.m + tile - 1) / tile;
  task.batch = c.count() / (task.m * task.n);
  const std::int64_t jobs = task.tiles_across * task.tiles_down * task.batch;
  const Grid grid{static_cast<unsigned>(std::min<std::int64_t>(jobs, 1 << 30)), side * side};
  visit_dtype<whole_dtypes>(c.dtype, [&]<class T>(T) { launch<multiply_tiles<T>>(queue, call, grid, task); });
}

}  // namespace tutti::kernels::cuda
