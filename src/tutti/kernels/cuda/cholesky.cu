// Cholesky factors, one block a matrix in shared memory; those that do not fit there go to large_cholesky.h.
#include "tutti/exec/linear_algebra_attributes.h"
#include "tutti/kernels/cuda/block_matrix.cuh"
#include "tutti/kernels/cuda/cholesky_report.cuh"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/large_cholesky.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels::cuda {

namespace {

using tutti::cuda::Trap;

extern __shared__ __align__(16) std::byte cholesky_room[];

// The upper factor is the transpose of the lower one of the same matrix: worked out with rows and columns exchanged.
template <class T>
__global__ void __launch_bounds__(most_block_threads)
    cholesky_kernel(const T* x, T* out, std::int32_t* info, std::int64_t count, int n, bool upper, Trap* trap) {
  const std::int64_t size = static_cast<std::int64_t>(n) * n;
  const int down = upper ? 1 : n;  // from a row of the lower factor to the next
  const int across = upper ? n : 1;
  const Deal deal(n);
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  T* const a = reinterpret_cast<T*>(cholesky_room);
  for (std::int64_t at = blockIdx.x; at < count; at += gridDim.x) {
    const T* from = x + at * size;
    __syncthreads();  // the matrix before this one is done with
    for (int i = deal.row; i < n; i += deal.down) {
      for (int j = deal.column; j < n; j += deal.across) {
        const int place = i * n + j;
        a[place] = (upper ? j >= i : j <= i) ? from[place] : T{0};
      }
    }
    __syncthreads();
    int failed = 0;  // the order of the minor
    for (int k = 0; k < n; ++k) {
      T* column = a + k * across;  // k of the lower factor
      const T left = column[k * down];
      if (!(left > T{0})) {
        failed = k + 1;
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
    if (thread == 0) report(info, trap, at, failed);
    if (failed == 0) {
      block_copy(out + at * size, a, size);
    } else {
      for (std::int64_t i = thread; i < size; i += threads) out[at * size + i] = no_factor<T>;
    }
  }
}

std::string describe_indefinite(const Trap& trap) { return not_positive_definite(trap.first, trap.second); }

std::int64_t bytes_of(const Batch2D& a, std::int64_t element) { return static_cast<std::int64_t>(a.rows) * a.rows * element; }

template <class T>
void cholesky_with(const KernelCall& call, Queue& queue, const Batch2D& a) {
  const std::int64_t bytes = bytes_of(a, sizeof(T));
  const auto [upper, wants_info] = call.attributes->as<CholeskyAttributes>();
  std::int32_t* const info = wants_info ? call.out(1).as<std::int32_t>() : nullptr;
  Trap* const trap = wants_info ? nullptr : queue.arm_trap(describe_indefinite);
  if (bytes > most_shared_bytes)
    return large_cholesky(queue, call, call.in(0).as<T>(), call.out().as<T>(), info, a.count, a.rows, upper, trap);
  launch<cholesky_kernel<T>>(queue, call, grid_of(a.count, a.rows, static_cast<unsigned>(bytes)), call.in(0).as<T>(),
                             call.out().as<T>(), info, a.count, a.rows, upper, trap);
}

}  // namespace

static std::int64_t cholesky_bytes(const WorkspaceCall& call) {
  const Batch2D a = matrices_of(call.input(0));
  const auto element = static_cast<std::int64_t>(size_of(call.input(0).dtype));
  return bytes_of(a, element) <= most_shared_bytes ? 0 : large_cholesky_bytes(a.count, a.rows, element);
}

static void cholesky(const KernelCall& call, KernelContext& context) {
  const Batch2D a = matrices_of(device_input(call, 0), call);
  if (a.count == 0 || a.rows == 0) {
    if (call.outputs == 2 && a.count > 0)
      check(cudaMemsetAsync(call.out(1).data, 0, static_cast<std::size_t>(a.count) * 4, queue_of(context).stream()),
            "filling with zeros", call);
    return;
  }
  visit_dtype<wide_floats>(call.in(0).dtype, [&]<class T>(T) { cholesky_with<T>(call, queue_of(context), a); });
}

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("Cholesky", cholesky, workspace<cholesky_bytes>, wide_floats);

}  // namespace tutti::kernels::cuda
