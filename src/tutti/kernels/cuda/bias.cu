#include "tutti/kernels/cuda/bias.h"

#include <algorithm>

#include "tutti/kernels/cuda/elementwise.h"
#include "tutti/kernels/cuda/stored.cuh"

namespace tutti::kernels::cuda {

namespace {

constexpr int columns_at_once = 32;
constexpr int rows_at_once = 16;

template <class T>
__global__ void rectify_elements(T* x, std::int64_t count) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    if (widen(x[i]) < Working<T>(0)) x[i] = narrow<T>(Working<T>(0));
  }
}

template <class T>
__global__ void add_up_rows(const T* from, std::int64_t row_step, std::int64_t column_step, std::int64_t rows,
                            std::int64_t columns, T* to) {
  __shared__ double shared[rows_at_once][columns_at_once];
  const std::int64_t column = blockIdx.x * std::int64_t{columns_at_once} + threadIdx.x;
  double sum = 0;
  if (column < columns) {
    for (std::int64_t row = threadIdx.y; row < rows; row += rows_at_once)
      sum += static_cast<double>(widen(from[row * row_step + column * column_step]));
  }
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int i = 1; i < rows_at_once; ++i) sum += shared[i][threadIdx.x];
  to[column] = narrow<T>(static_cast<Working<T>>(sum));
}

}  // namespace

void rectify(const Operand& x, Queue& queue, const KernelCall& call) {
  const std::int64_t count = x.count();
  visit_stored<floating_dtypes>(x.dtype, [&]<class T>(T) {
    launch<rectify_elements<T>>(queue, call, grid_for(count, 4, queue), reinterpret_cast<T*>(x.data), count);
  });
}

void sum_rows(const Operand& from, const Operand& to, Queue& queue, const KernelCall& call) {
  const std::int64_t columns = from.axes[1].size;
  const Grid grid{.blocks = dim3(static_cast<unsigned>((columns + columns_at_once - 1) / columns_at_once)),
                  .threads = dim3(columns_at_once, rows_at_once)};
  visit_stored<floating_dtypes>(from.dtype, [&]<class T>(T) {
    launch<add_up_rows<T>>(queue, call, grid, reinterpret_cast<const T*>(from.data), from.axes[0].stride, from.axes[1].stride,
                           from.axes[0].size, columns, reinterpret_cast<T*>(to.data));
  });
}

}  // namespace tutti::kernels::cuda
