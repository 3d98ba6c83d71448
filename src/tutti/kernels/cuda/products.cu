#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

namespace {

// Floats are multiplied in f64: what is between stays within the range of the others. Integers wrap, and give an i64.
template <class V>
struct Product {
  using Ending = Product;
  using Element = V;
  using Part = std::conditional_t<std::is_same_v<V, double>, double, unsigned long long>;
  using Total = Part;

  TagOf<V> dtype;

  __device__ __forceinline__ TaggedElements<V> source(const ReductionTask& task, std::int64_t first) const {
    return {task.data, first, task.reduced, dtype};
  }
  __device__ __forceinline__ Part part(V x) const { return static_cast<Part>(x); }
  __device__ __forceinline__ Part no_part() const { return 1; }
  __device__ __forceinline__ Part combine(Part a, Part b) const { return a * b; }
  __device__ __forceinline__ Total total_of(Part part) const { return part; }
  __device__ __forceinline__ Total none() const { return 1; }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return a * b; }
  __device__ __forceinline__ void write(void* out, std::int64_t at, Total total) const {
    if constexpr (std::is_same_v<V, double>) {
      store_rounded(out, dtype, at, total);
    } else {
      static_cast<Total*>(out)[at] = total;
    }
  }
};

}  // namespace

void multiply_elements(const ReductionPlan& plan, DType dtype, Queue& queue, const KernelCall& call) {
  if (is_floating(dtype)) return run_reduction(plan, Product<double>{dtype}, queue, call);
  run_reduction(plan, Product<std::int64_t>{dtype}, queue, call);
}

}  // namespace tutti::kernels::cuda
