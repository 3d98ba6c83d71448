#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

namespace {

// The bits of an element that count: the sign of a float is no value, -0 is zero.
template <class U>
U value_bits(DType dtype) {
  const U all = static_cast<U>(~U{0});
  return is_floating(dtype) ? static_cast<U>(all >> 1U) : all;
}

// All is: not any that is not.
template <class U>
struct Truth {
  using Ending = Truth;
  using Element = U;
  using Part = unsigned;
  using Total = unsigned;
  using Out = std::uint8_t;
  U bits;
  unsigned of_all;  // 0 or 1
  __device__ __forceinline__ Part part(U x) const { return ((x & bits) != 0 ? 1U : 0U) ^ of_all; }
  __device__ __forceinline__ Part no_part() const { return 0; }
  __device__ __forceinline__ Part combine(Part a, Part b) const { return a | b; }
  __device__ __forceinline__ Total total_of(Part part) const { return part; }
  __device__ __forceinline__ Total none() const { return 0; }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return a | b; }
  __device__ __forceinline__ Out finish(Total total) const { return static_cast<Out>(total ^ of_all); }
};

struct TotalCount {
  using Total = unsigned long long;
  using Out = long long;
  __device__ __forceinline__ Total none() const { return 0; }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return a + b; }
  __device__ __forceinline__ Out finish(Total total) const { return static_cast<Out>(total); }
};
template <class U>
struct Count : TotalCount {
  using Ending = TotalCount;
  using Element = U;
  using Part = int;
  U bits;
  explicit Count(U bits_that_count) : bits(bits_that_count) {}
  __device__ __forceinline__ Part part(U x) const { return (x & bits) != 0 ? 1 : 0; }
  __device__ __forceinline__ Part no_part() const { return 0; }
  __device__ __forceinline__ Part combine(Part a, Part b) const { return a + b; }
  __device__ __forceinline__ Total total_of(Part part) const { return static_cast<Total>(part); }
};

}  // namespace

void test_elements(const ReductionPlan& plan, DType dtype, bool of_all, Queue& queue, const KernelCall& call) {
  const unsigned all = of_all ? 1 : 0;
  switch (size_of(dtype)) {
    case 1: return run_reduction(plan, Truth<std::uint8_t>{value_bits<std::uint8_t>(dtype), all}, queue, call);
    case 2: return run_reduction(plan, Truth<std::uint16_t>{value_bits<std::uint16_t>(dtype), all}, queue, call);
    case 4: return run_reduction(plan, Truth<std::uint32_t>{value_bits<std::uint32_t>(dtype), all}, queue, call);
    default: return run_reduction(plan, Truth<std::uint64_t>{value_bits<std::uint64_t>(dtype), all}, queue, call);
  }
}
void count_elements(const ReductionPlan& plan, DType dtype, Queue& queue, const KernelCall& call) {
  switch (size_of(dtype)) {
    case 1: return run_reduction(plan, Count<std::uint8_t>{value_bits<std::uint8_t>(dtype)}, queue, call);
    case 2: return run_reduction(plan, Count<std::uint16_t>{value_bits<std::uint16_t>(dtype)}, queue, call);
    case 4: return run_reduction(plan, Count<std::uint32_t>{value_bits<std::uint32_t>(dtype)}, queue, call);
    default: return run_reduction(plan, Count<std::uint64_t>{value_bits<std::uint64_t>(dtype)}, queue, call);
  }
}

}  // namespace tutti::kernels::cuda
