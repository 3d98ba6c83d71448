// Arithmetic for exec/box_muller.h. Belongs to no instruction set, so that it can be compiled into a loop of any.
#pragma once

namespace tutti::kernels {

template <class T>
struct RoundedMath {
  static T mul(T a, T b) { return a * b; }
  static T add(T a, T b) { return a + b; }
  static T div(T a, T b) { return a / b; }
  // One rounding also where the instruction is missing: then it is a slow call, but the numbers stay the same.
  static T mul_add(T a, T b, T c) {
    if constexpr (sizeof(T) == 4) {
      return __builtin_fmaf(a, b, c);
    } else {
      return __builtin_fma(a, b, c);
    }
  }
};

}  // namespace tutti::kernels
