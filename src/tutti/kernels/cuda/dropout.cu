#include "tutti/kernels/cuda/dropout.cuh"

#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

template <class T, int width>
void drop_in_matrices(const KernelCall& call, Queue& queue, const DropoutAttributes& attributes) {
  const std::int64_t threads = call.out().count() / (4 * width);
  launch<dropout_matrices_kernel<T, width>>(queue, call, grid_for(threads, 1, queue), call.in(0).as<T>(), call.out().as<T>(),
                                            Divisor<std::uint32_t>(attributes.columns / width),
                                            Divisor<std::uint32_t>(attributes.rows / 4), static_cast<std::uint32_t>(threads),
                                            attributes);
}

template <class T>
void run_dropout(const KernelCall& call, Queue& queue) {
  const std::int64_t count = call.out().count();
  if (count == 0) return;
  const bool aligned = is_aligned(device_input(call, 0), pack_bytes) && is_aligned(call.out(), pack_bytes);
  const auto attributes = call.attributes->as<DropoutAttributes>();
  if (attributes.rows > 1) {
    if (aligned && attributes.columns % pack_width<T> == 0) return drop_in_matrices<T, pack_width<T>>(call, queue, attributes);
    return drop_in_matrices<T, 1>(call, queue, attributes);
  }
  const Grid grid = grid_for((count + dropout_elements<T> - 1) / dropout_elements<T>, 1, queue);
  launch<dropout_kernel<T>>(queue, call, grid, call.in(0).as<T>(), call.out().as<T>(), count, aligned, attributes);
}

}  // namespace

static void dropout(const KernelCall& call, KernelContext& context) {
  Queue& queue = queue_of(context);
  switch (call.in(0).dtype) {
    case DType::f16: return run_dropout<__half>(call, queue);
    case DType::bf16: return run_dropout<__nv_bfloat16>(call, queue);
    case DType::f32: return run_dropout<float>(call, queue);
    default: return run_dropout<double>(call, queue);
  }
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("Dropout", dropout, nullptr, floating_dtypes);

}  // namespace tutti::kernels::cuda
