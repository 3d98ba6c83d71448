#include "tutti/kernels/cuda/argument.cuh"

namespace tutti::kernels::cuda {

template <class T>
using AmongFloats = Argument<T, OrderedFloat<T>>;

void place_among_floats(const ReductionPlan& plan, DType dtype, bool of_largest, Queue& queue, const KernelCall& call) {
  switch (dtype) {
    case DType::f16: return run_reduction(plan, AmongFloats<__half>{{of_largest, false}}, queue, call);
    case DType::bf16: return run_reduction(plan, AmongFloats<__nv_bfloat16>{{of_largest, false}}, queue, call);
    case DType::f32: return run_reduction(plan, AmongFloats<float>{{of_largest, false}}, queue, call);
    default: return run_reduction(plan, AmongFloats<double>{{of_largest, false}}, queue, call);
  }
}

}  // namespace tutti::kernels::cuda
