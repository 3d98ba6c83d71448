#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

namespace {

// The sum of magnitudes, or the root of that of squares. Added in short chains as they are computed in, then in f64.
template <class T>
struct Norm {
  using Ending = Norm;
  using Element = T;
  using Part = Working<T>;
  using Total = double;
  using Out = T;

  bool is_euclidean;

  __device__ __forceinline__ Part part(T x) const {
    const Part value = widen(x);
    return is_euclidean ? value * value : value < 0 ? -value : value;
  }
  __device__ __forceinline__ Part no_part() const { return 0; }
  __device__ __forceinline__ Part combine(Part a, Part b) const { return a + b; }
  __device__ __forceinline__ Total total_of(Part part) const { return part; }
  __device__ __forceinline__ Total none() const { return 0; }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return a + b; }
  __device__ __forceinline__ Out finish(Total total) const { return rounded<T>(is_euclidean ? sqrt(total) : total); }
};

}  // namespace

void norm_of_elements(const ReductionPlan& plan, DType dtype, double order, Queue& queue, const KernelCall& call) {
  switch (dtype) {
    case DType::f16: return run_reduction(plan, Norm<__half>{order == 2}, queue, call);
    case DType::bf16: return run_reduction(plan, Norm<__nv_bfloat16>{order == 2}, queue, call);
    case DType::f32: return run_reduction(plan, Norm<float>{order == 2}, queue, call);
    default: return run_reduction(plan, Norm<double>{order == 2}, queue, call);
  }
}

}  // namespace tutti::kernels::cuda
