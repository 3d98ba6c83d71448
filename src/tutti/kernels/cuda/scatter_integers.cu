#include "tutti/kernels/cuda/elementwise.h"
#include "tutti/kernels/cuda/scatter_atomic.cuh"

namespace tutti::kernels::cuda {

namespace {

template <ScatterMode mode>
void by_width(ScatterTask& task, DType dtype, Queue& queue, const KernelCall& call) {
  switch (size_of(dtype)) {
    case 1: return launch_update<mode, std::uint8_t>(task, queue, call);
    case 2: return launch_update<mode, std::uint16_t>(task, queue, call);
    case 4: return launch_update<mode, std::uint32_t>(task, queue, call);
    default: return launch_update<mode, std::uint64_t>(task, queue, call);
  }
}

}  // namespace

void scatter_atomically(ScatterTask& task, ScatterMode mode, DType dtype, Queue& queue, const KernelCall& call) {
  if (mode == ScatterMode::minimum || mode == ScatterMode::maximum) return scatter_extremes(task, mode, dtype, queue, call);
  if (dtype == DType::boolean) {  // a sum of bools is "or", the greatest; a product "and", the least
    const auto same = mode == ScatterMode::add ? ScatterMode::maximum : ScatterMode::minimum;
    return scatter_extremes(task, same, dtype, queue, call);
  }
  if (is_floating(dtype)) refuse_dtype(call, dtype);
  if (mode == ScatterMode::add) return by_width<ScatterMode::add>(task, dtype, queue, call);
  by_width<ScatterMode::multiply>(task, dtype, queue, call);
}

}  // namespace tutti::kernels::cuda
