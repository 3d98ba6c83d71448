#include "tutti/kernels/cuda/argument.cuh"

namespace tutti::kernels::cuda {

template <class T>
using AmongFloats = Argument<T, OrderedFloat<T>>;

template <class Plan>
void place(const Plan& plan, DType dtype, bool of_largest, Queue& queue, const KernelCall& call) {
  switch (dtype) {
    case DType::f16: return run_argument(plan, AmongFloats<__half>{{of_largest, false}}, queue, call);
    case DType::bf16: return run_argument(plan, AmongFloats<__nv_bfloat16>{{of_largest, false}}, queue, call);
    case DType::f32: return run_argument(plan, AmongFloats<float>{{of_largest, false}}, queue, call);
    default: return run_argument(plan, AmongFloats<double>{{of_largest, false}}, queue, call);
  }
}

void place_among_floats(const ReductionPlan& plan, DType dtype, bool of_largest, Queue& queue, const KernelCall& call) {
  place(plan, dtype, of_largest, queue, call);
}
void place_among_floats(const ArgumentLines& lines, DType dtype, bool of_largest, Queue& queue, const KernelCall& call) {
  place(lines, dtype, of_largest, queue, call);
}

}  // namespace tutti::kernels::cuda
