#include <cmath>

#include "tutti/kernels/cuda/ordered.cuh"
#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

namespace {

// The largest, and the sum of e^(x - largest). An infinite or NaN largest is not subtracted: e^x then says what the sum is.
template <class T>
struct LogSumExp {
  using Ending = LogSumExp;
  using Element = T;
  using Value = Working<T>;
  struct Total {
    double sum;
    Value largest;
  };
  using Run = Total;
  using Out = T;
  static_assert(sizeof(Total) == 16);

  static __device__ __forceinline__ Value shift_of(Value largest) { return isfinite(largest) ? largest : Value{0}; }

  __device__ __forceinline__ Run start() const { return none(); }
  template <int n>
  __device__ __forceinline__ void take(Run& run, const T (&elements)[n], int /*place*/) const {
    Value largest = run.largest;
#pragma unroll
    for (int i = 0; i < n; ++i) largest = OrderedFloat<T>::larger(largest, widen(elements[i]));
    const Value shift = shift_of(largest);
    Value sum = 0;
#pragma unroll
    for (int i = 0; i < n; ++i) sum += exponential(widen(elements[i]) - shift);
    // In f64 also for f32: elements that rise all along scale it many times.
    const bool is_scaled = largest != run.largest && run.sum != 0;
    run = {(is_scaled ? scaled(run, shift) : run.sum) + sum, largest};
  }
  template <class IndexOf>
  __device__ __forceinline__ Total total_of(const Run& run, const IndexOf&) const {
    return run;
  }
  __device__ __forceinline__ Total none() const { return {0, -static_cast<Value>(HUGE_VAL)}; }
  __device__ __forceinline__ Total merge(const Total& a, const Total& b) const {
    const bool is_a = !(a.largest < b.largest || b.largest != b.largest);
    const Value largest = is_a ? a.largest : b.largest;
    const Total low{is_a ? b.sum : a.sum, is_a ? b.largest : a.largest};
    return {(is_a ? a.sum : b.sum) + scaled(low, shift_of(largest)), largest};
  }
  __device__ __forceinline__ double result(const Total& total) const { return log(total.sum) + shift_of(total.largest); }
  __device__ __forceinline__ Out finish(const Total& total) const { return rounded<T>(result(total)); }

 private:
  static __device__ __forceinline__ Value exponential(Value x) {
    if constexpr (sizeof(Value) == 8) {
      return exp(x);
    } else {
      return expf(x);
    }
  }
  static __device__ __forceinline__ double scaled(const Total& total, Value shift) {
    return total.sum * exp(static_cast<double>(total.largest) - static_cast<double>(shift));
  }
};

// One kernel for both kinds: the function costs more than the loads.
struct LogSumExpOfHalves : LogSumExp<float> {
  using Ending = LogSumExpOfHalves;
  TagOf<float> dtype;
  __device__ __forceinline__ TaggedElements<float> source(const ReductionTask& task, std::int64_t first) const {
    return {task.data, first, task.reduced, dtype};
  }
  __device__ __forceinline__ void write(void* out, std::int64_t at, const Total& total) const {
    store_rounded(out, dtype, at, result(total));
  }
};

}  // namespace

void log_sum_exp_of_elements(const ReductionPlan& plan, DType dtype, Queue& queue, const KernelCall& call) {
  visit_stored<floating_dtypes>(dtype, [&]<class T>(T) {
    if constexpr (is_half<T>) {
      run_reduction(plan, LogSumExpOfHalves{{}, dtype}, queue, call);
    } else {
      run_reduction(plan, LogSumExp<T>{}, queue, call);
    }
  });
}

}  // namespace tutti::kernels::cuda
