#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

namespace {

// Not inlined: the function is long and its uses are many and rare.
template <class Value>
__device__ __noinline__ Value power(Value x, double order) {
  if constexpr (sizeof(Value) == 8) {
    return pow(x, order);
  } else {
    return powf(x, static_cast<float>(order));
  }
}

// The root of the sum of |x|^order.
template <class T>
struct PowerNorm {
  using Ending = PowerNorm;
  using Element = T;
  using Part = Working<T>;
  using Total = double;
  using Out = T;

  double order;

  __device__ __forceinline__ Part part(T x) const {
    const Part value = widen(x);
    return power(value < 0 ? -value : value, order);
  }
  __device__ __forceinline__ Part no_part() const { return 0; }
  __device__ __forceinline__ Part combine(Part a, Part b) const { return a + b; }
  __device__ __forceinline__ Total total_of(Part part) const { return part; }
  __device__ __forceinline__ Total none() const { return 0; }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return a + b; }
  __device__ __forceinline__ Out finish(Total total) const { return rounded<T>(pow(total, 1 / order)); }
};

}  // namespace

void power_norm_of_elements(const ReductionPlan& plan, DType dtype, double order, Queue& queue, const KernelCall& call) {
  switch (dtype) {
    case DType::f16: return run_reduction(plan, PowerNorm<__half>{order}, queue, call);
    case DType::bf16: return run_reduction(plan, PowerNorm<__nv_bfloat16>{order}, queue, call);
    case DType::f32: return run_reduction(plan, PowerNorm<float>{order}, queue, call);
    default: return run_reduction(plan, PowerNorm<double>{order}, queue, call);
  }
}

}  // namespace tutti::kernels::cuda
