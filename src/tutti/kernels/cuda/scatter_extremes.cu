#include "tutti/kernels/cuda/scatter_atomic.cuh"

namespace tutti::kernels::cuda {

namespace {

template <ScatterMode mode>
void by_dtype(ScatterTask& task, DType dtype, Queue& queue, const KernelCall& call) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8: return launch_update<mode, std::uint8_t>(task, queue, call);
    case DType::i8: return launch_update<mode, std::int8_t>(task, queue, call);
    case DType::i16: return launch_update<mode, std::int16_t>(task, queue, call);
    case DType::i32: return launch_update<mode, std::int32_t>(task, queue, call);
    case DType::i64: return launch_update<mode, std::int64_t>(task, queue, call);
    case DType::f16: return launch_update<mode, __half>(task, queue, call);
    case DType::bf16: return launch_update<mode, __nv_bfloat16>(task, queue, call);
    case DType::f32: return launch_update<mode, float>(task, queue, call);
    case DType::f64: return launch_update<mode, double>(task, queue, call);
  }
}

}  // namespace

void scatter_extremes(ScatterTask& task, ScatterMode mode, DType dtype, Queue& queue, const KernelCall& call) {
  if (mode == ScatterMode::minimum) return by_dtype<ScatterMode::minimum>(task, dtype, queue, call);
  by_dtype<ScatterMode::maximum>(task, dtype, queue, call);
}

}  // namespace tutti::kernels::cuda
