// How floats are added up, here and in the kernels that graphs compile.
#pragma once

#include "tutti/kernels/cuda/stored.cuh"
#include "tutti/kernels/cuda/sum_of.h"

namespace tutti::kernels::cuda {

// Added in short chains as they are computed in, then in f64. Of what, is a matter of the launch.
template <class T>
struct SumOfFloats {
  using Ending = SumOfFloats;
  using Element = T;
  using Part = Working<T>;
  using Total = double;
  using Out = T;

  SumOf terms;
  double divisor;  // 1, or how many there are: a mean

  __device__ __forceinline__ Part part(T x) const {
    const Part value = widen(x);
    const Part factor = terms == SumOf::squares ? value : terms == SumOf::magnitudes && value < 0 ? Part{-1} : Part{1};
    return value * factor;
  }
  __device__ __forceinline__ Part no_part() const { return 0; }
  __device__ __forceinline__ Part combine(Part a, Part b) const { return a + b; }
  __device__ __forceinline__ Total total_of(Part part) const { return part; }
  __device__ __forceinline__ Total none() const { return 0; }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return a + b; }
  __device__ __forceinline__ Out finish(Total total) const {
    return rounded<T>(terms == SumOf::squares ? sqrt(total) : total / divisor);
  }
};

}  // namespace tutti::kernels::cuda
