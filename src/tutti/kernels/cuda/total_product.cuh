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
  std::int64_t times;  // every element is there so often
  __device__ __forceinline__ Total none() const { return 1; }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return a * b; }
  __device__ __forceinline__ Out finish(Total total) const {
    if constexpr (std::is_same_v<Total, double>) {
      return rounded<T>(raised(total));
    } else {
      return static_cast<T>(raised(total));
    }
  }

 private:
  // By squares: what a product in pairs of equal factors gives.
  __device__ __forceinline__ Total raised(Total square) const {
    Total power = 1;
    for (std::int64_t left = times; left > 0; left /= 2, square *= square) {
      if (left % 2 != 0) power *= square;
    }
    return power;
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
