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

template <class R, bool is_side_by_side>
__global__ void __launch_bounds__(reduction_block_threads, argument_blocks_per_multiprocessor)
    reduce_lines(const __grid_constant__ ArgumentLines lines, const __grid_constant__ R r) {
  using Total = typename R::Total;
  const ReductionTask& task = lines.task;
  const int lane = static_cast<int>(threadIdx.x) & (task.lanes - 1);
  const int per_block = reduction_block_threads / task.lanes;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * per_block;
  Total best = r.none();
  for (std::int64_t line = static_cast<std::int64_t>(blockIdx.x) * per_block + static_cast<int>(threadIdx.x) / task.lanes;
       line < lines.lines; line += step) {
    const std::int64_t first = offset_of(lines.starts, line);
    Total total;
    if constexpr (HasSource<R>) {
      total = strided_share<4>(r, r.source(task, first), lane, task.length, task.lanes);
    } else if constexpr (is_side_by_side) {
      total = contiguous_share(r, static_cast<const typename R::Element*>(task.data) + first, task.length, lane, task.lanes);
    } else {
      total = strided_share<4>(r, InAnyLayout<R>{r}.source(task, first), lane, task.length, task.lanes);
    }
    if (total.index == r.none().index) continue;
    total.index = offset_of(lines.places, line) + total.index * lines.place_step;
    best = r.merge(best, total);
  }
  best = block_total<reduction_block_threads>(r, best);
  if (threadIdx.x == 0) store_total(task, r, 0, blockIdx.x, best);
}

template <class R>
void run_argument(const ReductionPlan& plan, const R& r, Queue& queue, const KernelCall& call) {
  run_reduction(plan, r, queue, call);
}
template <class R>
void run_argument(const ArgumentLines& lines, const R& r, Queue& queue, const KernelCall& call) {
  const Grid grid{static_cast<unsigned>(lines.task.parts), reduction_block_threads};
  if constexpr (HasSource<R>) {
    launch<reduce_lines<R, false>>(queue, call, grid, lines, r);
  } else if constexpr (sizeof(typename R::Element) == 8) {
    return run_argument(lines, InAnyLayout<R>{r}, queue, call);
  } else if (lines.task.reduced.is_dense()) {
    launch<reduce_lines<R, true>>(queue, call, grid, lines, r);
  } else {
    launch<reduce_lines<R, false>>(queue, call, grid, lines, r);
  }
  if (lines.task.partials != nullptr) finish_reduction<typename R::Ending>(lines.task, r, queue, call);
}

template <class Plan>
void place(const Plan& plan, DType dtype, bool of_largest, Queue& queue, const KernelCall& call) {
  if (is_floating(dtype)) {
    return visit_stored<floating_dtypes>(dtype, [&]<class T>(T) {
      run_argument(plan, Argument<T, OrderedFloat<T>>{{of_largest, false}}, queue, call);
    });
  }
  using OfWide = Argument<std::int64_t, OrderedInteger<std::int64_t>>;
  if (dtype == DType::i64) return run_argument(plan, OfWide{OrderedInteger<std::int64_t>(of_largest)}, queue, call);
  using OfInts = Argument<int, OrderedInteger<int>>;
  run_argument(plan, OfIntegers<OfInts>{{OrderedInteger<int>(of_largest)}, dtype}, queue, call);
}

}  // namespace

void place_of_extremum(const ReductionPlan& plan, DType dtype, bool of_largest, Queue& queue, const KernelCall& call) {
  place(plan, dtype, of_largest, queue, call);
}
void place_of_extremum(const ArgumentLines& lines, DType dtype, bool of_largest, Queue& queue, const KernelCall& call) {
  place(lines, dtype, of_largest, queue, call);
}

}  // namespace tutti::kernels::cuda
