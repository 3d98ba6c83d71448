#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

namespace {

// Added in short chains as they are computed in, then in f64.
template <class T>
struct TotalOfFloats {
  using Total = double;
  using Out = T;
  double divisor;  // 1, or how many there are: a mean
  __device__ __forceinline__ Total none() const { return 0; }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return a + b; }
  __device__ __forceinline__ Out finish(Total total) const { return rounded<T>(total / divisor); }
};
template <class T>
struct SumOfFloats : TotalOfFloats<T> {
  using Ending = TotalOfFloats<T>;
  using Element = T;
  using Part = Working<T>;
  __device__ __forceinline__ Part part(T x) const { return widen(x); }
  __device__ __forceinline__ Part no_part() const { return 0; }
  __device__ __forceinline__ Part combine(Part a, Part b) const { return a + b; }
  __device__ __forceinline__ double total_of(Part part) const { return part; }
};

}  // namespace

void sum_floats(const ReductionPlan& plan, DType dtype, double divisor, Queue& queue, const KernelCall& call) {
  switch (dtype) {
    case DType::f16: return run_reduction(plan, SumOfFloats<__half>{{divisor}}, queue, call);
    case DType::bf16: return run_reduction(plan, SumOfFloats<__nv_bfloat16>{{divisor}}, queue, call);
    case DType::f32: return run_reduction(plan, SumOfFloats<float>{{divisor}}, queue, call);
    default: return run_reduction(plan, SumOfFloats<double>{{divisor}}, queue, call);
  }
}

}  // namespace tutti::kernels::cuda
