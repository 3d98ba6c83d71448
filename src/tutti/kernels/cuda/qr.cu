// QR by reflections, with LAPACK's signs. One block a matrix, one warp a column at a time.
#include "tutti/exec/linear_algebra_attributes.h"
#include "tutti/kernels/cuda/block_matrix.cuh"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels::cuda {

namespace {

extern __shared__ __align__(16) std::byte qr_room[];

// The column's elements below row k times v, plus row k itself, are taken off along v: the reflection of column j of x (by
// rows, `line` elements each). v lies in column k of `a`, below the diagonal; its first element is 1 and is not stored.
template <class T>
__device__ __forceinline__ void reflect_column(const T* a, int n, int k, T tau, T* x, int line, int m, int j) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  T sum = T{0};
  for (int i = k + 1 + lane; i < m; i += 32)
    sum += a[static_cast<std::int64_t>(i) * n + k] * x[static_cast<std::int64_t>(i) * line + j];
  T* const first = x + static_cast<std::int64_t>(k) * line + j;
  const T scaled = tau * (warp_sum(sum) + *first);
  __syncwarp();  // all have read the first element
  if (lane == 0) *first -= scaled;
  for (int i = k + 1 + lane; i < m; i += 32)
    x[static_cast<std::int64_t>(i) * line + j] -= scaled * a[static_cast<std::int64_t>(i) * n + k];
}

// Makes the reflection that clears column k below the diagonal; returns its scale, 0 where there is nothing to clear.
template <class T>
__device__ T make_reflection(T* a, int m, int n, int k) {
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  T* const corner = a + static_cast<std::int64_t>(k) * n + k;
  Largest<T> largest{T{0}, m};
  for (int i = k + 1 + thread; i < m; i += threads) {
    const T value = a[static_cast<std::int64_t>(i) * n + k];
    const T size = isnan(value) ? std::numeric_limits<T>::infinity() : fabs(value);  // it will spoil the sum below
    if (size > largest.key) largest = {size, i};
  }
  const T scale = block_largest(largest).key;
  if (scale == T{0}) return T{0};
  T squares = T{0};
  for (int i = k + 1 + thread; i < m; i += threads) {
    const T x = a[static_cast<std::int64_t>(i) * n + k] / scale;
    squares += x * x;
  }
  const T below = scale * sqrt(block_sum(squares));
  const T alpha = *corner;
  const T beta = -copysign(hypot(alpha, below), alpha);
  __syncthreads();  // all have read the corner
  const T divisor = alpha - beta;
  for (int i = k + 1 + thread; i < m; i += threads) a[static_cast<std::int64_t>(i) * n + k] /= divisor;
  if (thread == 0) *corner = beta;
  return (beta - alpha) / beta;
}

// `work` holds a copy of x, then the scales, then q where all that fits in shared memory.
template <class T>
__global__ void __launch_bounds__(most_block_threads)
    qr_kernel(const T* x, T* q, T* r, std::int64_t count, int m, int n, int inner, Room room, bool has_q) {
  const std::int64_t size = static_cast<std::int64_t>(m) * n;
  const std::int64_t q_size = static_cast<std::int64_t>(m) * inner;
  const int least = m < n ? m : n;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  for (std::int64_t at = blockIdx.x; at < count; at += gridDim.x) {
    T* a = reinterpret_cast<T*>(room.at(at, qr_room));
    T* scales = a + size;
    T* basis = has_q ? scales + least : q + at * q_size;
    __syncthreads();  // the matrix before this one is done with
    block_copy(a, x + at * size, size);
    __syncthreads();
    for (int k = 0; k < least; ++k) {
      const T tau = make_reflection(a, m, n, k);
      if (threadIdx.x == 0) scales[k] = tau;
      __syncthreads();
      if (tau != T{0}) {
        for (int j = k + 1 + warp; j < n; j += warps) reflect_column(a, n, k, tau, a, n, m, j);
      }
      __syncthreads();
    }
    const Deal over_r(n);
    for (int i = over_r.row; i < inner; i += over_r.down) {
      for (int j = over_r.column; j < n; j += over_r.across) {
        const std::int64_t place = static_cast<std::int64_t>(i) * n + j;
        r[at * inner * n + place] = j >= i ? a[place] : T{0};
      }
    }
    const Deal over_q(inner);
    for (int i = over_q.row; i < m; i += over_q.down) {
      for (int j = over_q.column; j < inner; j += over_q.across)
        basis[static_cast<std::int64_t>(i) * inner + j] = i == j ? T{1} : T{0};
    }
    __syncthreads();
    for (int k = least; k-- > 0;) {
      const T tau = scales[k];
      if (tau != T{0}) {
        for (int j = k + warp; j < inner; j += warps) reflect_column(a, n, k, tau, basis, inner, m, j);
      }
      __syncthreads();
    }
    if (has_q) block_copy(q + at * q_size, basis, q_size);
  }
}

struct QrRoom {
  std::int64_t bytes = 0;  // for each matrix
  bool has_q = false;
};
QrRoom room_for(const Batch2D& x, int inner, std::int64_t element) {
  const std::int64_t least = std::min(x.rows, x.columns);
  const std::int64_t alone = (static_cast<std::int64_t>(x.rows) * x.columns + least) * element;
  const std::int64_t both = alone + static_cast<std::int64_t>(x.rows) * inner * element;
  if (Room::rounded(both) <= most_shared_bytes) return {both, true};
  return {alone, false};
}

template <class T>
void qr_with(const KernelCall& call, Queue& queue, const Batch2D& x, int inner) {
  const QrRoom needed = room_for(x, inner, sizeof(T));
  const Room room = Room::of(call, needed.bytes);
  launch<qr_kernel<T>>(queue, call, grid_of(x.count, std::max(x.rows, x.columns), room.shared_bytes()), call.in(0).as<T>(),
                       call.out(0).as<T>(), call.out(1).as<T>(), x.count, x.rows, x.columns, inner, room, needed.has_q);
}

int inner_of(const Batch2D& x, const QrAttributes& attributes) {
  return attributes.is_complete ? x.rows : std::min(x.rows, x.columns);
}

}  // namespace

static std::int64_t qr_bytes(const WorkspaceCall& call) {
  const Batch2D x = matrices_of(call.input(0));
  const auto element = static_cast<std::int64_t>(size_of(call.input(0).dtype));
  const QrRoom room = room_for(x, inner_of(x, call.attributes().as<QrAttributes>()), element);
  return Room::scratch_bytes(room.bytes, x.count);
}

static void qr(const KernelCall& call, KernelContext& context) {
  const Batch2D x = matrices_of(device_input(call, 0), call);
  const int inner = inner_of(x, call.attributes->as<QrAttributes>());
  if (x.count == 0 || inner == 0) return;
  visit_dtype<wide_floats>(call.in(0).dtype, [&]<class T>(T) { qr_with<T>(call, queue_of(context), x, inner); });
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("Qr", qr, workspace<qr_bytes>, wide_floats);

}  // namespace tutti::kernels::cuda
