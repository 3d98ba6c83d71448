// Elements as numbers of which the largest is wanted: the smallest of x is the largest of x with its order reversed. A NaN beats
// all.
#pragma once

#include "tutti/kernels/cuda/math.cuh"

namespace tutti::kernels::cuda {

// Bits of a float that are kept (all but the sign, for magnitudes) and flipped (the sign, for the smallest).
template <class T>
struct OrderedFloat {
  using Value = Working<T>;
  using Bits = std::conditional_t<sizeof(Value) == 8, unsigned long long, unsigned>;
  static constexpr Bits sign = Bits{1} << (8 * sizeof(Value) - 1);

  Bits kept;
  Bits flipped;

  OrderedFloat(bool of_largest, bool of_magnitudes) : kept(of_magnitudes ? ~sign : ~Bits{0}), flipped(of_largest ? 0 : sign) {}
  __device__ __forceinline__ Value ordered(T x) const { return as_value((as_bits(widen(x)) & kept) ^ flipped); }
  __device__ __forceinline__ T stored(Value x) const { return narrow<T>(as_value(as_bits(x) ^ flipped)); }
  static __device__ __forceinline__ Value lowest() {
    return as_value(static_cast<Bits>(sizeof(Value) == 8 ? 0xfff0000000000000ULL : 0xff800000ULL));
  }
  static __device__ __forceinline__ bool is_nan(Value x) { return x != x; }
  static __device__ __forceinline__ Value larger(Value a, Value b) {
    if constexpr (std::is_same_v<Value, float>) {
      float larger;
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
      return larger;
    } else {
      return a < b || is_nan(b) ? b : a;
    }
  }

 private:
  static __device__ __forceinline__ Bits as_bits(Value x) {
    if constexpr (sizeof(Value) == 8) {
      return static_cast<Bits>(__double_as_longlong(x));
    } else {
      return __float_as_uint(x);
    }
  }
  static __device__ __forceinline__ Value as_value(Bits x) {
    if constexpr (sizeof(Value) == 8) {
      return __longlong_as_double(static_cast<long long>(x));
    } else {
      return __uint_as_float(x);
    }
  }
};

template <class T>
struct OrderedInteger {
  using Value = std::conditional_t<sizeof(T) == 8, long long, int>;

  Value flipped;  // all bits or none

  explicit OrderedInteger(bool of_largest) : flipped(of_largest ? 0 : -1) {}
  __device__ __forceinline__ Value ordered(T x) const { return static_cast<Value>(x) ^ flipped; }
  __device__ __forceinline__ T stored(Value x) const { return static_cast<T>(x ^ flipped); }
  static __device__ __forceinline__ Value lowest() { return static_cast<Value>(1ULL << (8 * sizeof(Value) - 1)); }
  static __device__ __forceinline__ bool is_nan(Value) { return false; }
  static __device__ __forceinline__ Value larger(Value a, Value b) { return a < b ? b : a; }
};

// The largest element, as a reduction (accumulate.cuh).
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

}  // namespace tutti::kernels::cuda
