// What elimination with row exchanges solves: systems, inverses, determinants. One block a matrix, in shared memory; those that
// do not fit there go to large_elimination.h.
#include "tutti/exec/linear_algebra_attributes.h"
#include "tutti/kernels/cuda/block_matrix.cuh"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/large_elimination.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/trap.cuh"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels::cuda {

namespace {

using tutti::cuda::Trap;

struct Eliminated {
  bool is_singular = false;
  bool is_odd = false;  // an odd number of rows was exchanged
};

// `a`, n x n by rows, becomes its LU; row k was exchanged with row pivots[k] before step k. All threads of the block take part,
// and what they wrote before must be there.
template <class T>
__device__ Eliminated eliminate(T* a, int n, int* pivots) {
  Eliminated out;
  const Deal deal(n);
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int k = 0; k < n; ++k) {
    Largest<T> mine{T{-1}, n};
    for (int i = k + thread; i < n; i += threads) {
      const T size = fabs(a[static_cast<std::int64_t>(i) * n + k]);
      if (size > mine.key) mine = {size, i};
    }
    const Largest<T> found = block_largest(mine);
    const int pivot = found.at < n ? found.at : k;  // nothing compares in a column of NaN
    T* row = a + static_cast<std::int64_t>(k) * n;
    T* other = a + static_cast<std::int64_t>(pivot) * n;
    const T divisor = other[k];
    __syncthreads();  // all have read it before it moves
    if (thread == 0) pivots[k] = pivot;
    if (pivot != k) {
      out.is_odd = !out.is_odd;
      for (int j = thread; j < n; j += threads) {
        const T held = row[j];
        row[j] = other[j];
        other[j] = held;
      }
      __syncthreads();
    }
    if (divisor == T{0}) {
      out.is_singular = true;
      continue;
    }
    for (int i = k + 1 + thread; i < n; i += threads) a[static_cast<std::int64_t>(i) * n + k] /= divisor;
    __syncthreads();
    for (int i = k + 1 + deal.row; i < n; i += deal.down) {
      T* to = a + static_cast<std::int64_t>(i) * n;
      const T factor = to[k];
      for (int j = k + 1 + deal.column; j < n; j += deal.across) to[j] -= factor * row[j];
    }
    __syncthreads();
  }
  return out;
}

// x, n x columns by rows, becomes the solution for the right-hand side it holds.
template <class T>
__device__ void substitute(const T* a, int n, const int* pivots, T* x, int columns) {
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const Deal deal(columns);
  const auto line = [&](int i) { return x + static_cast<std::int64_t>(i) * columns; };
  for (int j = thread; j < columns; j += threads) {  // each thread exchanges the rows of its own columns
    for (int k = 0; k < n; ++k) {
      const int pivot = pivots[k];
      if (pivot == k) continue;
      const T held = line(k)[j];
      line(k)[j] = line(pivot)[j];
      line(pivot)[j] = held;
    }
  }
  __syncthreads();
  const auto take_off = [&](int k, int first, int last) {  // row k from those
    for (int i = first + deal.row; i < last; i += deal.down) {
      const T factor = a[static_cast<std::int64_t>(i) * n + k];
      for (int j = deal.column; j < columns; j += deal.across) line(i)[j] -= factor * line(k)[j];
    }
    __syncthreads();
  };
  for (int k = 0; k < n; ++k) take_off(k, k + 1, n);
  for (int k = n; k-- > 0;) {
    const T divisor = a[static_cast<std::int64_t>(k) * n + k];
    for (int j = thread; j < columns; j += threads) line(k)[j] /= divisor;
    __syncthreads();
    take_off(k, 0, k);
  }
}

extern __shared__ __align__(16) std::byte shared_room[];

// b is null for the inverse: the right-hand side is then the identity.
template <class T>
__global__ void __launch_bounds__(most_block_threads)
    solve_kernel(const T* a, const T* b, T* x, std::int64_t count, int n, int columns, Trap* trap) {
  const std::int64_t size = static_cast<std::int64_t>(n) * n;
  const std::int64_t side = static_cast<std::int64_t>(n) * columns;
  for (std::int64_t at = blockIdx.x; at < count; at += gridDim.x) {
    T* work = reinterpret_cast<T*>(shared_room);
    int* pivots = reinterpret_cast<int*>(work + size);
    __syncthreads();  // the matrix before this one is done with
    block_copy(work, a + at * size, size);
    T* to = x + at * side;
    if (b != nullptr) {
      block_copy(to, b + at * side, side);
    } else {
      for (int i = 0; i < n; ++i) {
        for (int j = static_cast<int>(threadIdx.x); j < n; j += static_cast<int>(blockDim.x))
          to[static_cast<std::int64_t>(i) * n + j] = i == j ? T{1} : T{0};
      }
    }
    __syncthreads();
    if (eliminate(work, n, pivots).is_singular) {
      if (threadIdx.x == 0) note(trap, 1, at, 0);
      continue;
    }
    substitute(work, n, pivots, to, columns);
  }
}

template <class T>
__global__ void __launch_bounds__(most_block_threads)
    determinant_kernel(const T* a, Determinants<T> out, std::int64_t count, int n) {
  const std::int64_t size = static_cast<std::int64_t>(n) * n;
  for (std::int64_t at = blockIdx.x; at < count; at += gridDim.x) {
    T* work = reinterpret_cast<T*>(shared_room);
    __syncthreads();
    block_copy(work, a + at * size, size);
    __syncthreads();
    const Eliminated found = eliminate(work, n, reinterpret_cast<int*>(work + size));
    if (threadIdx.x != 0) continue;
    T all = found.is_odd ? T{-1} : T{1};
    T side = all;
    T logs = T{0};
    for (int k = 0; k < n; ++k) {
      const T pivot = work[static_cast<std::int64_t>(k) * n + k];
      all *= pivot;
      side = pivot == T{0} ? T{0} : pivot < T{0} ? -side : side;
      logs += log(fabs(pivot));
    }
    if (out.product != nullptr) {
      out.product[at] = all;
    } else {
      out.sign[at] = isnan(logs) ? logs : side;
      out.logarithm[at] = logs;
    }
  }
}

// A copy and its exchanges.
std::int64_t room_bytes(const Batch2D& a, std::int64_t element) {
  return static_cast<std::int64_t>(a.rows) * a.rows * element + static_cast<std::int64_t>(a.rows) * 4;
}
bool is_small(const Batch2D& a, std::int64_t element) { return room_bytes(a, element) <= most_shared_bytes; }
Grid small_grid(const Batch2D& a, std::int64_t element) {
  return grid_of(a.count, a.rows, static_cast<unsigned>(room_bytes(a, element)));
}

std::string describe_singular(const Trap& trap) { return singular_matrix(trap.first); }

template <class T>
void solve_with(const KernelCall& call, Queue& queue, const Batch2D& a, const T* b, int columns) {
  Trap* const trap = queue.arm_trap(describe_singular);
  const T* const from = call.in(0).as<T>();
  T* const x = call.out().as<T>();
  if (!is_small(a, sizeof(T))) return solve_large(queue, call, from, b, x, a.count, a.rows, columns, trap);
  launch<solve_kernel<T>>(queue, call, small_grid(a, sizeof(T)), from, b, x, a.count, a.rows, columns, trap);
}

template <class T>
void determinant_with(const KernelCall& call, Queue& queue, const Batch2D& a) {
  const bool in_logs = call.outputs == 2;
  const Determinants<T> out{in_logs ? nullptr : call.out().as<T>(), in_logs ? call.out(0).as<T>() : nullptr,
                            in_logs ? call.out(1).as<T>() : nullptr};
  const T* const from = call.in(0).as<T>();
  if (!is_small(a, sizeof(T))) return large_determinants(queue, call, from, out, a.count, a.rows);
  launch<determinant_kernel<T>>(queue, call, small_grid(a, sizeof(T)), from, out, a.count, a.rows);
}

std::int64_t bytes_for(const Operand& matrices, std::int64_t columns) {
  const Batch2D a = matrices_of(matrices);
  const auto element = static_cast<std::int64_t>(size_of(matrices.dtype));
  return is_small(a, element) ? 0 : large_elimination_bytes(a.count, a.rows, columns, element);
}

}  // namespace

static std::int64_t solve_bytes(const WorkspaceCall& call) {
  return bytes_for(call.input(0), matrices_of(call.input(1)).columns);
}
static std::int64_t inverse_bytes(const WorkspaceCall& call) {
  return bytes_for(call.input(0), matrices_of(call.input(0)).columns);
}
static std::int64_t determinant_bytes(const WorkspaceCall& call) { return bytes_for(call.input(0), 0); }

static void matrix_solve(const KernelCall& call, KernelContext& context) {
  const Batch2D a = matrices_of(device_input(call, 0), call);
  const Operand& b = device_input(call, 1);
  const int columns = matrices_of(b, call).columns;
  if (a.count == 0 || a.rows == 0) return;
  visit_dtype<wide_floats>(b.dtype, [&]<class T>(T) { solve_with(call, queue_of(context), a, b.as<T>(), columns); });
}

static void matrix_inverse(const KernelCall& call, KernelContext& context) {
  const Batch2D a = matrices_of(device_input(call, 0), call);
  if (a.count == 0 || a.rows == 0) return;
  visit_dtype<wide_floats>(call.in(0).dtype, [&]<class T>(T) { solve_with<T>(call, queue_of(context), a, nullptr, a.columns); });
}

// A matrix without elements has determinant 1: the kernel runs for it, too.
static void determinant(const KernelCall& call, KernelContext& context) {
  const Batch2D a = matrices_of(device_input(call, 0), call);
  if (a.count == 0) return;
  visit_dtype<wide_floats>(call.in(0).dtype, [&]<class T>(T) { determinant_with<T>(call, queue_of(context), a); });
}

static void prepare_with(const KernelCall& call, KernelContext& context, int columns) {
  const Batch2D a = matrices_of(device_input(call, 0), call);
  if (a.count == 0 || is_small(a, static_cast<std::int64_t>(size_of(call.in(0).dtype)))) return;
  visit_dtype<wide_floats>(call.in(0).dtype,
                           [&]<class T>(T) { prepare_large_elimination<T>(queue_of(context), call, a.count, a.rows, columns); });
}
static void prepare_solve(const KernelCall& call, KernelContext& context) {
  prepare_with(call, context, matrices_of(device_input(call, 1), call).columns);
}
static void prepare_inverse(const KernelCall& call, KernelContext& context) {
  prepare_with(call, context, matrices_of(device_input(call, 0), call).columns);
}
static void prepare_determinant(const KernelCall& call, KernelContext& context) { prepare_with(call, context, 0); }

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("MatrixSolve", matrix_solve, workspace<solve_bytes>, wide_floats, prepare_solve) &&
    register_cuda_kernel("MatrixInverse", matrix_inverse, workspace<inverse_bytes>, wide_floats, prepare_inverse) &&
    register_cuda_kernel("MatrixDeterminant", determinant, workspace<determinant_bytes>, wide_floats, prepare_determinant) &&
    register_cuda_kernel("LogMatrixDeterminant", determinant, workspace<determinant_bytes>, wide_floats, prepare_determinant);

}  // namespace tutti::kernels::cuda
