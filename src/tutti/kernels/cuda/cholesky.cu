// Cholesky factors, one block a matrix: in shared memory if it fits there, otherwise in the output.
#include "tutti/exec/linear_algebra_attributes.h"
#include "tutti/kernels/cuda/block_matrix.cuh"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/trap.cuh"

namespace tutti::kernels::cuda {

namespace {

using tutti::cuda::Trap;

extern __shared__ __align__(16) std::byte cholesky_room[];

// The upper factor is the transpose of the lower one of the same matrix: worked out with rows and columns exchanged.
template <class T>
__global__ void __launch_bounds__(most_block_threads)
    cholesky_kernel(const T* x, T* out, std::int64_t count, int n, bool upper, bool in_shared, Trap* trap) {
  const std::int64_t size = static_cast<std::int64_t>(n) * n;
  const std::int64_t down = upper ? 1 : n;  // from a row of the lower factor to the next
  const std::int64_t across = upper ? n : 1;
  const Deal deal(n);
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (std::int64_t at = blockIdx.x; at < count; at += gridDim.x) {
    const T* from = x + at * size;
    T* to = out + at * size;
    T* a = in_shared ? reinterpret_cast<T*>(cholesky_room) : to;
    __syncthreads();  // the matrix before this one is done with
    for (int i = deal.row; i < n; i += deal.down) {
      for (int j = deal.column; j < n; j += deal.across) {
        const std::int64_t place = static_cast<std::int64_t>(i) * n + j;
        a[place] = (upper ? j >= i : j <= i) ? from[place] : T{0};
      }
    }
    __syncthreads();
    bool is_definite = true;
    for (int k = 0; k < n; ++k) {
      T* column = a + k * across;  // k of the lower factor
      const T left = column[k * down];
      if (!(left > T{0})) {
        if (thread == 0) note(trap, 1, at, k + 1);
        is_definite = false;
        break;
      }
      const T root = sqrt(left);
      __syncthreads();  // all have read it
      for (int i = k + thread; i < n; i += threads) column[i * down] = i == k ? root : column[i * down] / root;
      __syncthreads();
      for (int i = k + 1 + deal.row; i < n; i += deal.down) {
        const T factor = column[i * down];
        for (int j = k + 1 + deal.column; j <= i; j += deal.across) a[i * down + j * across] -= factor * column[j * down];
      }
      __syncthreads();
    }
    if (is_definite && in_shared) block_copy(to, a, size);
  }
}

std::string describe_indefinite(const Trap& trap) { return not_positive_definite(trap.first, trap.second); }

template <class T>
void cholesky_with(const KernelCall& call, Queue& queue, const Batch2D& a) {
  const std::int64_t bytes = static_cast<std::int64_t>(a.rows) * a.rows * static_cast<std::int64_t>(sizeof(T));
  const bool in_shared = bytes <= most_shared_bytes;
  launch<cholesky_kernel<T>>(queue, call, grid_of(a.count, a.rows, in_shared ? static_cast<unsigned>(bytes) : 0U),
                             call.in(0).as<T>(), call.out().as<T>(), a.count, a.rows,
                             call.attributes->as<CholeskyAttributes>().upper, in_shared, queue.arm_trap(describe_indefinite));
}

}  // namespace

static void cholesky(const KernelCall& call, KernelContext& context) {
  const Batch2D a = matrices_of(device_input(call, 0), call);
  if (a.count == 0 || a.rows == 0) return;
  if (call.in(0).dtype == DType::f32) {
    cholesky_with<float>(call, queue_of(context), a);
  } else {
    cholesky_with<double>(call, queue_of(context), a);
  }
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("Cholesky", cholesky, nullptr, wide_floats);

}  // namespace tutti::kernels::cuda
