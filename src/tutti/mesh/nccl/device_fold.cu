#include "tutti/kernels/cuda/math.cuh"
#include "tutti/mesh/nccl/device_fold.h"

namespace tutti::nccl {

namespace {

namespace scalar = kernels::cuda;

constexpr unsigned threads = 256;

// Each element is rounded once, at the end.
template <class Function, class T>
__global__ void fold_kernel(const T* parts, std::size_t members, T* out, std::size_t count, bool is_mean) {
  using W = scalar::Working<T>;
  const scalar::ScalarMath<W> math;
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  W made = scalar::widen(parts[i]);
  for (std::size_t member = 1; member < members; ++member)
    made = Function::apply(math, made, static_cast<W>(scalar::widen(parts[member * count + i])));
  if constexpr (std::is_floating_point_v<W>) {
    if (is_mean) made = math.div(made, static_cast<W>(members));
  }
  out[i] = scalar::narrow<T>(made);
}

struct Task {
  const void* parts;
  std::size_t members;
  void* out;
  std::size_t count;
  Reduction reduction;
  cudaStream_t stream;
};

template <class Function, class T>
cudaError_t run(const Task& task) {
  const auto blocks = static_cast<unsigned>((task.count + threads - 1) / threads);
  fold_kernel<Function, T><<<blocks, threads, 0, task.stream>>>(
      static_cast<const T*>(task.parts), task.members, static_cast<T*>(task.out), task.count, task.reduction == Reduction::mean);
  return cudaGetLastError();
}

// Sums and products of integers wrap, so they are made without the sign.
template <class Wrapping, class Plain>
cudaError_t run_as(const Task& task) {
  switch (task.reduction) {
    case Reduction::min: return run<scalar::Minimum, Plain>(task);
    case Reduction::max: return run<scalar::Maximum, Plain>(task);
    case Reduction::prod: return run<scalar::Multiply, Wrapping>(task);
    case Reduction::sum:
    case Reduction::mean: break;
  }
  return run<scalar::Add, Wrapping>(task);
}

}  // namespace

cudaError_t fold(const void* parts, std::size_t members, void* out, std::size_t count, DType dtype, Reduction reduction,
                 cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const Task task{parts, members, out, count, reduction, stream};
  return scalar::visit_stored<any_dtype>(dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, scalar::StoredBool>) {
      return run_as<std::uint8_t, std::uint8_t>(task);
    } else if constexpr (std::is_integral_v<T>) {
      return run_as<std::make_unsigned_t<T>, T>(task);
    } else {
      return run_as<T, T>(task);
    }
  });
}

}  // namespace tutti::nccl
