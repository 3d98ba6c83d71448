#include "tutti/kernels/cuda/argument.cuh"

namespace tutti::kernels::cuda {

template <class T>
using AmongIntegers = Argument<T, OrderedInteger<T>>;

template <class Plan>
void place(const Plan& plan, DType dtype, bool of_largest, Queue& queue, const KernelCall& call) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8: return run_argument(plan, AmongIntegers<std::uint8_t>{OrderedInteger<std::uint8_t>(of_largest)}, queue, call);
    case DType::i8: return run_argument(plan, AmongIntegers<std::int8_t>{OrderedInteger<std::int8_t>(of_largest)}, queue, call);
    case DType::i16:
      return run_argument(plan, AmongIntegers<std::int16_t>{OrderedInteger<std::int16_t>(of_largest)}, queue, call);
    case DType::i32:
      return run_argument(plan, AmongIntegers<std::int32_t>{OrderedInteger<std::int32_t>(of_largest)}, queue, call);
    default: return run_argument(plan, AmongIntegers<std::int64_t>{OrderedInteger<std::int64_t>(of_largest)}, queue, call);
  }
}

void place_among_integers(const ReductionPlan& plan, DType dtype, bool of_largest, Queue& queue, const KernelCall& call) {
  place(plan, dtype, of_largest, queue, call);
}
void place_among_integers(const ArgumentLines& lines, DType dtype, bool of_largest, Queue& queue, const KernelCall& call) {
  place(lines, dtype, of_largest, queue, call);
}

}  // namespace tutti::kernels::cuda
