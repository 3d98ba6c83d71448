#include "tutti/kernels/cuda/extremum.cuh"

namespace tutti::kernels::cuda {

template <class T>
using OfIntegers = Extremum<T, OrderedInteger<T>>;

void extremum_of_integers(const ReductionPlan& plan, DType dtype, bool of_largest, Queue& queue, const KernelCall& call) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8: return run_reduction(plan, OfIntegers<std::uint8_t>{OrderedInteger<std::uint8_t>(of_largest)}, queue, call);
    case DType::i8: return run_reduction(plan, OfIntegers<std::int8_t>{OrderedInteger<std::int8_t>(of_largest)}, queue, call);
    case DType::i16: return run_reduction(plan, OfIntegers<std::int16_t>{OrderedInteger<std::int16_t>(of_largest)}, queue, call);
    case DType::i32: return run_reduction(plan, OfIntegers<std::int32_t>{OrderedInteger<std::int32_t>(of_largest)}, queue, call);
    default: return run_reduction(plan, OfIntegers<std::int64_t>{OrderedInteger<std::int64_t>(of_largest)}, queue, call);
  }
}

}  // namespace tutti::kernels::cuda
