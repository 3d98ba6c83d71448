// The largest or smallest element.
#include "tutti/kernels/cuda/ordered.cuh"
#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

namespace {

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
