// Where the largest or smallest element is: the first of several, the first NaN before any.
#include "tutti/kernels/cuda/ordered.cuh"
#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

namespace {

template <class T, class Order>
struct Argument {
  using Ending = Argument;
  using Element = T;
  using Value = typename Order::Value;
  struct Total {
    Value value;
    long long index;
  };
  using Out = long long;
  static_assert(sizeof(Total) == 16);

  Order order;

  struct Run {
    Value best;
    int place;  // -1: nothing yet
  };

  static __device__ __forceinline__ bool beats(Value x, Value best) {
    return best < x || (Order::is_nan(x) && !Order::is_nan(best));
  }
  static __device__ __forceinline__ bool are_like(Value a, Value b) { return a == b || (Order::is_nan(a) && Order::is_nan(b)); }

  __device__ __forceinline__ Run start() const { return {Order::lowest(), -1}; }
  // A run's elements come in order, so a later one has to be better. Where in a group it is, is looked for only then.
  template <int n>
  __device__ __forceinline__ void take(Run& run, const T (&elements)[n], int place) const {
    Value best = order.ordered(elements[0]);
#pragma unroll
    for (int i = 1; i < n; ++i) best = Order::larger(best, order.ordered(elements[i]));
    if (run.place >= 0 && !beats(best, run.best)) return;
    int first = n - 1;
#pragma unroll
    for (int i = n - 2; i >= 0; --i) first = are_like(order.ordered(elements[i]), best) ? i : first;
    run = {best, place + first};
  }
  template <class IndexOf>
  __device__ __forceinline__ Total total_of(const Run& run, const IndexOf& index_of) const {
    if (run.place < 0) return none();
    return {run.best, static_cast<long long>(index_of(run.place))};
  }
  __device__ __forceinline__ Total none() const { return {Order::lowest(), 0x7fffffffffffffffLL}; }
  __device__ __forceinline__ Total merge(const Total& a, const Total& b) const {
    const bool takes_b = are_like(a.value, b.value) ? b.index < a.index : beats(b.value, a.value);
    return takes_b ? b : a;
  }
  __device__ __forceinline__ Out finish(const Total& total) const { return total.index; }
};

}  // namespace

void place_of_extremum(const ReductionPlan& plan, DType dtype, bool of_largest, Queue& queue, const KernelCall& call) {
  if (is_floating(dtype)) {
    return visit_stored<floating_dtypes>(dtype, [&]<class T>(T) {
      run_reduction(plan, Argument<T, OrderedFloat<T>>{{of_largest, false}}, queue, call);
    });
  }
  using OfWide = Argument<std::int64_t, OrderedInteger<std::int64_t>>;
  if (dtype == DType::i64) return run_reduction(plan, OfWide{OrderedInteger<std::int64_t>(of_largest)}, queue, call);
  using OfInts = Argument<int, OrderedInteger<int>>;
  run_reduction(plan, OfIntegers<OfInts>{{OrderedInteger<int>(of_largest)}, dtype}, queue, call);
}

}  // namespace tutti::kernels::cuda
