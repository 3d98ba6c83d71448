#include "tutti/kernels/cuda/float_sums.cuh"
#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

namespace {

// Unsigned: integers wrap.
struct TotalOfIntegers {
  using Total = unsigned long long;
  using Out = long long;
  __device__ __forceinline__ Total none() const { return 0; }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return a + b; }
  __device__ __forceinline__ Out finish(Total total) const { return static_cast<Out>(total); }
};
template <class T>
struct SumOfIntegers : TotalOfIntegers {
  using Ending = TotalOfIntegers;
  using Element = T;
  using Part = unsigned long long;
  __device__ __forceinline__ Part part(T x) const { return static_cast<Part>(x); }
  __device__ __forceinline__ Part no_part() const { return 0; }
  __device__ __forceinline__ Part combine(Part a, Part b) const { return a + b; }
  __device__ __forceinline__ Total total_of(Part part) const { return part; }
};

}  // namespace

void sum_floats(const ReductionPlan& plan, DType dtype, SumOf terms, double divisor, Queue& queue, const KernelCall& call) {
  visit_stored<floating_dtypes>(dtype, [&]<class T>(T) { run_reduction(plan, SumOfFloats<T>{terms, divisor}, queue, call); });
}

void sum_integers(const ReductionPlan& plan, DType dtype, Queue& queue, const KernelCall& call) {
  if (dtype == DType::i64) return run_reduction(plan, SumOfIntegers<std::int64_t>{}, queue, call);
  if (dtype == DType::i32) return run_reduction(plan, SumOfIntegers<std::int32_t>{}, queue, call);
  run_reduction(plan, OfIntegers<SumOfIntegers<int>>{{}, dtype}, queue, call);
}

}  // namespace tutti::kernels::cuda
