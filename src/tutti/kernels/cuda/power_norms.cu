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

// The root of the sum of |x|^order. Rare enough for one kernel over all dtypes that are computed in W.
template <class W>
struct PowerNorm {
  using Ending = PowerNorm;
  using Element = W;
  using Part = W;
  using Total = double;

  double order;
  TagOf<W> dtype;

  __device__ __forceinline__ TaggedElements<W> source(const ReductionTask& task, std::int64_t first) const {
    return {task.data, first, task.reduced, dtype};
  }
  __device__ __forceinline__ Part part(W x) const { return power(x < 0 ? -x : x, order); }
  __device__ __forceinline__ Part no_part() const { return 0; }
  __device__ __forceinline__ Part combine(Part a, Part b) const { return a + b; }
  __device__ __forceinline__ Total total_of(Part part) const { return part; }
  __device__ __forceinline__ Total none() const { return 0; }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return a + b; }
  __device__ __forceinline__ void write(void* out, std::int64_t at, Total total) const {
    store_rounded(out, dtype, at, pow(total, 1 / order));
  }
};

}  // namespace

void power_norm_of_elements(const ReductionPlan& plan, DType dtype, double order, Queue& queue, const KernelCall& call) {
  visit_stored<floating_dtypes>(dtype, [&]<class T>(T) {
    run_reduction(plan, PowerNorm<Working<T>>{order, dtype}, queue, call);
  });
}

}  // namespace tutti::kernels::cuda
