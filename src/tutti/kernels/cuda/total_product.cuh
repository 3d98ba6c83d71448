// The product of elements.
#pragma once

#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

// Half precision and f32 are multiplied in f64: what is between stays within its range.
template <class T, class TotalType>
struct TotalProduct {
  using Total = TotalType;
  using Out = T;
  __device__ __forceinline__ Total none() const { return 1; }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return a * b; }
  __device__ __forceinline__ Out finish(Total total) const {
    if constexpr (std::is_same_v<Total, double>) {
      return rounded<T>(total);
    } else {
      return static_cast<T>(total);
    }
  }
};
template <class T, class Ending_>
struct ProductOf : Ending_ {
  using Ending = Ending_;
  using Element = T;
  using Part = typename Ending::Total;
  __device__ __forceinline__ Part part(T x) const {
    if constexpr (std::is_same_v<T, StoredBool>) {
      return static_cast<Part>(static_cast<int>(x));
    } else {
      return static_cast<Part>(widen(x));
    }
  }
  __device__ __forceinline__ Part no_part() const { return 1; }
  __device__ __forceinline__ Part combine(Part a, Part b) const { return a * b; }
  __device__ __forceinline__ Part total_of(Part part) const { return part; }
};

}  // namespace tutti::kernels::cuda
