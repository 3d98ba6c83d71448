#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

namespace {

// How many, their mean, and the squared distances from it. A group is worked on in registers, twice; groups are merged in f64.
struct Moments {
  double count;
  double mean;
  double squares;
};

template <class T>
struct Variance {
  using Ending = Variance;
  using Element = T;
  using Total = Moments;
  using Out = T;

  double divisor;
  bool takes_root;

  template <int n, class IndexOf>
  __device__ __forceinline__ Total with_group(const Total& total, const T (&elements)[n], const IndexOf&) const {
    using Value = Working<T>;
    constexpr Value share = Value{1} / n;
    Value sum = widen(elements[0]);
#pragma unroll
    for (int i = 1; i < n; ++i) sum += widen(elements[i]);
    const Value middle = sum * share;
    Value distances = 0;
    Value squares = 0;
#pragma unroll
    for (int i = 0; i < n; ++i) {
      const Value x = widen(elements[i]) - middle;
      distances += x;
      squares += x * x;
    }
    // The middle is rounded: what the distances from it add up to corrects both.
    const Value off = distances * share;
    return merge(total, {n, static_cast<double>(middle) + off, static_cast<double>(squares) - distances * off});
  }
  __device__ __forceinline__ Total none() const { return {0, 0, 0}; }
  __device__ __forceinline__ Total merge(const Total& a, const Total& b) const {
    const double count = a.count + b.count;
    const double share = count == 0 ? 0 : b.count / count;
    const double apart = b.mean - a.mean;
    return {count, a.mean + apart * share, a.squares + b.squares + apart * apart * (a.count * share)};
  }
  __device__ __forceinline__ Out finish(const Total& total) const {
    const double variance = total.squares / divisor;
    return rounded<T>(takes_root ? sqrt(variance) : variance);
  }
};

}  // namespace

void variance_of_elements(const ReductionPlan& plan, DType dtype, double divisor, bool takes_root, Queue& queue,
                          const KernelCall& call) {
  switch (dtype) {
    case DType::f16: return run_reduction(plan, Variance<__half>{divisor, takes_root}, queue, call);
    case DType::bf16: return run_reduction(plan, Variance<__nv_bfloat16>{divisor, takes_root}, queue, call);
    case DType::f32: return run_reduction(plan, Variance<float>{divisor, takes_root}, queue, call);
    default: return run_reduction(plan, Variance<double>{divisor, takes_root}, queue, call);
  }
}

}  // namespace tutti::kernels::cuda
