#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

namespace {

// How many, their mean, and the squared distances from it.
struct Moments {
  double count;
  double mean;
  double squares;
};

template <class T>
struct Variance {
  using Ending = Variance;
  using Element = T;
  using Value = Working<T>;
  using Total = Moments;
  using Out = T;
  // Sums of distances from the middle of the first elements, and of their squares. Those elements are part of the run, so all its
  // squares together are at most as many times the true ones as it has groups: f64 has digits enough.
  struct Run {
    double distances;
    double squares;
    Value origin;
    int count;
  };

  double divisor;
  bool takes_root;

  __device__ __forceinline__ Run start() const { return {0, 0, 0, 0}; }
  // A group is worked on in registers, twice; groups are added in f64.
  template <int n>
  __device__ __forceinline__ void take(Run& run, const T (&elements)[n], int /*place*/) const {
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
    if (run.count == 0) run.origin = middle;
    // The middle is rounded: what the distances from it add up to corrects both.
    const Value off = distances * share;
    const double apart = static_cast<double>(middle) - run.origin + off;
    run.count += n;
    run.distances += n * apart;
    run.squares += n * apart * apart + (squares - distances * off);
  }
  template <class IndexOf>
  __device__ __forceinline__ Total total_of(const Run& run, const IndexOf&) const {
    if (run.count == 0) return none();
    const auto count = static_cast<double>(run.count);
    const double off = run.distances / count;
    return {count, run.origin + off, run.squares - run.distances * off};
  }
  __device__ __forceinline__ Total none() const { return {0, 0, 0}; }
  __device__ __forceinline__ Total merge(const Total& a, const Total& b) const {
    const double count = a.count + b.count;
    const double share = count == 0 ? 0 : b.count / count;
    const double apart = b.mean - a.mean;
    return {count, a.mean + apart * share, a.squares + b.squares + apart * (apart * (a.count * share))};
  }
  __device__ __forceinline__ Out finish(const Total& total) const {
    const double squares = total.squares < 0 ? 0 : total.squares;  // by rounding
    const double variance = squares / divisor;
    return rounded<T>(takes_root ? sqrt(variance) : variance);
  }
};

}  // namespace

void variance_of_elements(const ReductionPlan& plan, DType dtype, double divisor, bool takes_root, Queue& queue,
                          const KernelCall& call) {
  visit_stored<floating_dtypes>(dtype, [&]<class T>(T) { run_reduction(plan, Variance<T>{divisor, takes_root}, queue, call); });
}

}  // namespace tutti::kernels::cuda
