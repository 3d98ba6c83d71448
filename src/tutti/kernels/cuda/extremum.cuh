// The largest or smallest element.
#pragma once

#include "tutti/kernels/cuda/ordered.cuh"
#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

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
