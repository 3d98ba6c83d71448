#include "tutti/kernels/cuda/extremum.cuh"

namespace tutti::kernels::cuda {

template <class T>
using OfFloats = Extremum<T, OrderedFloat<T>>;

void extremum_of_floats(const ReductionPlan& plan, DType dtype, bool of_largest, bool of_magnitudes, Queue& queue,
                        const KernelCall& call) {
  switch (dtype) {
    case DType::f16: return run_reduction(plan, OfFloats<__half>{{of_largest, of_magnitudes}}, queue, call);
    case DType::bf16: return run_reduction(plan, OfFloats<__nv_bfloat16>{{of_largest, of_magnitudes}}, queue, call);
    case DType::f32: return run_reduction(plan, OfFloats<float>{{of_largest, of_magnitudes}}, queue, call);
    default: return run_reduction(plan, OfFloats<double>{{of_largest, of_magnitudes}}, queue, call);
  }
}

}  // namespace tutti::kernels::cuda
