#include "tutti/kernels/cuda/count.cuh"
#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

namespace {

// All is: not any that is not. What is found so far is not 0 once there is one.
template <class U>
struct Truth {
  using Ending = Truth;
  using Element = U;
  using Packed = typename PackedWord<U>::Type;
  using Part = unsigned;
  using Total = unsigned;
  using Out = std::uint8_t;
  U bits;
  bool of_all;
  template <class Word>
  __device__ __forceinline__ Part part(Word x) const {
    if constexpr (sizeof(Word) == sizeof(U)) {
      return ((x & bits) != 0) != of_all ? 1U : 0U;
    } else {
      const unsigned word = x & (bits * PackedWord<U>::lowest);
      return of_all ? PackedWord<U>::has_zero(word) : word;
    }
  }
  __device__ __forceinline__ Part no_part() const { return 0; }
  __device__ __forceinline__ Part combine(Part a, Part b) const { return a | b; }
  __device__ __forceinline__ Total total_of(Part part) const { return part; }
  __device__ __forceinline__ Total none() const { return 0; }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return a | b; }
  __device__ __forceinline__ Out finish(Total total) const { return (total != 0) != of_all ? 1 : 0; }
};

}  // namespace

void test_elements(const ReductionPlan& plan, DType dtype, bool of_all, Queue& queue, const KernelCall& call) {
  visit_width(dtype, [&](auto width) {
    using U = decltype(width);
    run_reduction(plan, Truth<U>{static_cast<U>(value_bits(dtype)), of_all}, queue, call);
  });
}
void count_elements(const ReductionPlan& plan, DType dtype, Queue& queue, const KernelCall& call) {
  visit_width(dtype, [&](auto width) {
    using U = decltype(width);
    run_reduction(plan, Count<U>(static_cast<U>(value_bits(dtype))), queue, call);
  });
}

}  // namespace tutti::kernels::cuda
