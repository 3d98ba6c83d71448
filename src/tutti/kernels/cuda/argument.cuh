// Where the largest or smallest element is: the first of several, the first NaN before any.
#pragma once

#include "tutti/kernels/cuda/ordered.cuh"
#include "tutti/kernels/cuda/reduction_kernels.cuh"
#include "tutti/kernels/cuda/reductions.h"

namespace tutti::kernels::cuda {

template <class T, class Order>
struct Argument {
  using Ending = Argument;
  using Element = T;
  using Value = typename Order::Value;
  struct Total {
    Value value;
    long long index;
  };
  using Out = long long;
  static_assert(sizeof(Total) == 16);

  Order order;

  static __device__ __forceinline__ bool beats(Value x, Value best) {
    return best < x || (Order::is_nan(x) && !Order::is_nan(best));
  }

  // A thread's elements come in order, so a later one has to be better.
  template <int n, class IndexOf>
  __device__ __forceinline__ Total with_group(const Total& total, const T (&elements)[n], const IndexOf& index_of) const {
    Value best = order.ordered(elements[0]);
    int place = 0;
#pragma unroll
    for (int i = 1; i < n; ++i) {
      const Value x = order.ordered(elements[i]);
      const bool is_better = beats(x, best);
      best = is_better ? x : best;
      place = is_better ? i : place;
    }
    return merge(total, {best, static_cast<long long>(index_of(place))});
  }
  __device__ __forceinline__ Total none() const { return {Order::lowest(), 0x7fffffffffffffffLL}; }
  __device__ __forceinline__ Total merge(const Total& a, const Total& b) const {
    const bool is_like = a.value == b.value || (Order::is_nan(a.value) && Order::is_nan(b.value));
    const bool takes_b = is_like ? b.index < a.index : beats(b.value, a.value);
    return takes_b ? b : a;
  }
  __device__ __forceinline__ Out finish(const Total& total) const { return total.index; }
};

}  // namespace tutti::kernels::cuda
