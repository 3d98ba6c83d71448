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

// The same of small elements that belong to several results, a word of them at a time: a word says of each what is found so far.
template <class U>
struct TruthOfColumns {
  using Ending = TruthOfColumns;
  using Words = PackedWord<U>;
  using Element = std::uint32_t;
  using Part = std::uint32_t;
  using Total = std::uint32_t;
  using Out = std::conditional_t<sizeof(U) == 1, std::uint32_t, std::uint16_t>;  // as many bools
  static_assert(sizeof(U) < 4);
  U bits;
  bool of_all;
  __device__ __forceinline__ Part part(Element x) const {
    const std::uint32_t word = x & (bits * Words::lowest);
    return of_all ? Words::which_are_not(word) ^ Words::highest : word;
  }
  __device__ __forceinline__ Part no_part() const { return 0; }
  __device__ __forceinline__ Part combine(Part a, Part b) const { return a | b; }
  __device__ __forceinline__ Total total_of(Part part) const { return part; }
  __device__ __forceinline__ Total none() const { return 0; }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return a | b; }
  __device__ __forceinline__ Out finish(Total total) const {
    const std::uint32_t found = Words::which_are_not(total) >> (8 * sizeof(U) - 1);
    const std::uint32_t results = found ^ (of_all ? Words::lowest : 0U);
    return static_cast<Out>(sizeof(U) == 1 ? results : results | results >> 8U);
  }
};

}  // namespace

void test_columns(const ReductionPlan& plan, DType dtype, bool of_all, Queue& queue, const KernelCall& call) {
  const unsigned long long bits = value_bits(dtype);
  if (size_of(dtype) == 1) {
    run_column_packs(plan.task, TruthOfColumns<std::uint8_t>{static_cast<std::uint8_t>(bits), of_all}, queue, call);
  } else {
    run_column_packs(plan.task, TruthOfColumns<std::uint16_t>{static_cast<std::uint16_t>(bits), of_all}, queue, call);
  }
}
void test_elements(const ReductionPlan& plan, DType dtype, bool of_all, Queue& queue, const KernelCall& call) {
  visit_size(size_of(dtype), [&]<class U>(U) {
    run_reduction(plan, Truth<U>{static_cast<U>(value_bits(dtype)), of_all}, queue, call);
  });
}
void count_elements(const ReductionPlan& plan, DType dtype, Queue& queue, const KernelCall& call) {
  visit_size(size_of(dtype), [&]<class U>(U) { run_reduction(plan, Count<U>(static_cast<U>(value_bits(dtype))), queue, call); });
}

}  // namespace tutti::kernels::cuda
