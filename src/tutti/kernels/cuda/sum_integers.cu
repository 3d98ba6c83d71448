#include "tutti/kernels/cuda/count.cuh"
#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

namespace {

// Unsigned: integers wrap.
struct TotalOfIntegers {
  using Total = unsigned long long;
  using Out = long long;
  __device__ __forceinline__ Total none() const { return 0; }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return a + b; }
  __device__ __forceinline__ Out finish(Total total) const { return static_cast<Out>(total); }
};
template <class T>
struct SumOfIntegers : TotalOfIntegers {
  using Ending = TotalOfIntegers;
  using Element = T;
  using Packed = std::conditional_t<sizeof(T) == 1, unsigned, T>;
  using Part = std::conditional_t<(sizeof(T) < 4), int, unsigned long long>;
  template <class Word>
  __device__ __forceinline__ Part part(Word x) const {
    if constexpr (sizeof(Word) == sizeof(T)) {
      return static_cast<Part>(x);
    } else if constexpr (std::is_same_v<T, StoredBool>) {
      return __popc(PackedWord<std::uint8_t>::which_are_not(x));
    } else if constexpr (std::is_signed_v<T>) {
      return __dp4a(static_cast<int>(x), 0x01010101, 0);
    } else {
      return static_cast<Part>(__dp4a(x, 0x01010101U, 0U));
    }
  }
  __device__ __forceinline__ Part no_part() const { return 0; }
  __device__ __forceinline__ Part combine(Part a, Part b) const { return a + b; }
  __device__ __forceinline__ Total total_of(Part part) const { return static_cast<Total>(part); }
};

}  // namespace

void sum_integers(const ReductionPlan& plan, DType dtype, Queue& queue, const KernelCall& call) {
  switch (dtype) {
    case DType::boolean: return run_reduction(plan, SumOfIntegers<StoredBool>{}, queue, call);
    case DType::u8: return run_reduction(plan, SumOfIntegers<std::uint8_t>{}, queue, call);
    case DType::i8: return run_reduction(plan, SumOfIntegers<std::int8_t>{}, queue, call);
    case DType::i16: return run_reduction(plan, SumOfIntegers<std::int16_t>{}, queue, call);
    case DType::i32: return run_reduction(plan, SumOfIntegers<std::int32_t>{}, queue, call);
    default: return run_reduction(plan, SumOfIntegers<std::int64_t>{}, queue, call);
  }
}

}  // namespace tutti::kernels::cuda
