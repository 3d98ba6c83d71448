// The largest or smallest element.
#include "tutti/kernels/cuda/ordered.cuh"
#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

namespace {

template <class T, class Order>
struct Extremum {
  using Ending = Extremum;
  using Element = T;
  using Part = typename Order::Value;
  using Total = Part;
  using Out = T;

  Order order;

  __device__ __forceinline__ Part part(T x) const { return order.ordered(x); }
  __device__ __forceinline__ Part no_part() const { return Order::lowest(); }
  __device__ __forceinline__ Part combine(Part a, Part b) const { return Order::larger(a, b); }
  __device__ __forceinline__ Total total_of(Part part) const { return part; }
  __device__ __forceinline__ Total none() const { return Order::lowest(); }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return combine(a, b); }
  __device__ __forceinline__ Out finish(Total total) const { return order.stored(total); }
};

struct ExtremumOfIntegers : OfIntegers<Extremum<int, OrderedInteger<int>>> {
  using Ending = ExtremumOfIntegers;
  __device__ __forceinline__ void write(void* out, std::int64_t at, Total total) const {
    store_as<int>(out, dtype, at, finish(total));
  }
};

}  // namespace

void extremum_of_floats(const ReductionPlan& plan, DType dtype, bool of_largest, bool of_magnitudes, Queue& queue,
                        const KernelCall& call) {
  visit_stored<floating_dtypes>(dtype, [&]<class T>(T) {
    run_reduction(plan, Extremum<T, OrderedFloat<T>>{{of_largest, of_magnitudes}}, queue, call);
  });
}

void extremum_of_integers(const ReductionPlan& plan, DType dtype, bool of_largest, Queue& queue, const KernelCall& call) {
  using OfWide = Extremum<std::int64_t, OrderedInteger<std::int64_t>>;
  if (dtype == DType::i64) return run_reduction(plan, OfWide{OrderedInteger<std::int64_t>(of_largest)}, queue, call);
  run_reduction(plan, ExtremumOfIntegers{{{OrderedInteger<int>(of_largest)}, dtype}}, queue, call);
}

}  // namespace tutti::kernels::cuda
