// How many elements are not zero, of any dtype by its size: small ones several at a time, as they are in a word.
#pragma once

#include <limits>
#include <type_traits>

#include "tutti/kernels/cuda/contiguous_share.cuh"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels::cuda {

// The bits of an element that count; none of them set: it is zero. The sign bit of a float is no value: -0 is zero, and every NaN
// has other bits set.
inline unsigned long long value_bits(DType dtype) {
  const unsigned long long all = std::numeric_limits<unsigned long long>::max() >> (64 - 8 * size_of(dtype));
  return is_floating(dtype) ? all >> 1U : all;
}

// A word of elements: the lowest bit and the highest of each.
template <class U>
struct PackedWord {
  using Type = std::conditional_t<(sizeof(U) < 4), std::uint32_t, U>;
  static constexpr Type lowest = static_cast<Type>(~Type{0}) / static_cast<U>(~U{0});
  static constexpr Type highest = lowest << (8 * sizeof(U) - 1);
  // The highest bit of those that are not zero.
  static __device__ __forceinline__ Type which_are_not(Type word) {
    return (((word & ~highest) + (highest - lowest)) | word) & highest;
  }
  // Not zero if one of them is. Only the lowest of the bits that are set means an element.
  static __device__ __forceinline__ Type has_zero(Type word) { return (word - lowest) & ~word & highest; }
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
  using Packed = typename PackedWord<U>::Type;
  using Part = int;
  U bits;
  __host__ __device__ explicit Count(U bits_that_count) : bits(bits_that_count) {}
  template <class Word>
  __device__ __forceinline__ Part part(Word x) const {
    if constexpr (sizeof(Word) == sizeof(U)) {
      return (x & bits) != 0 ? 1 : 0;
    } else {
      return __popc(PackedWord<U>::which_are_not(x & (bits * PackedWord<U>::lowest)));
    }
  }
  __device__ __forceinline__ Part no_part() const { return 0; }
  __device__ __forceinline__ Part combine(Part a, Part b) const { return a + b; }
  __device__ __forceinline__ Total total_of(Part part) const { return static_cast<Total>(part); }
};

}  // namespace tutti::kernels::cuda
