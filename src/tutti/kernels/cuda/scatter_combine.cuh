// What becomes of an element and a value that meets it.
#pragma once

#include "tutti/kernels/cuda/index_task.cuh"
#include "tutti/kernels/cuda/math.cuh"
#include "tutti/kernels/cuda/scatter_task.h"

namespace tutti::kernels::cuda {

// NaN wins, and -0 is less than 0: the order of the arguments does not matter.
template <class W>
__device__ __forceinline__ W extreme(W a, W b, bool wants_least) {
  if constexpr (std::is_floating_point_v<W>) {
    if (isnan(a) || isnan(b)) return isnan(a) ? a : b;
    if (a == b) return (signbit(a) != 0) == wants_least ? a : b;
  }
  return (a < b) == wants_least ? a : b;
}

// Which of two is a matter of the launch: a kernel each would be compiled twice for no gain.
// The sum or the product. Integers that may overflow are unsigned.
struct Accumulate {
  bool multiplies;
  template <class W>
  __device__ __forceinline__ W operator()(W a, W b) const {
    return multiplies ? ScalarMath<W>{}.mul(a, b) : ScalarMath<W>{}.add(a, b);
  }
};
struct Extreme {
  bool wants_least;
  template <class W>
  __device__ __forceinline__ W operator()(W a, W b) const {
    return extreme(a, b, wants_least);
  }
};

template <class T>
__device__ __forceinline__ T value_at(const ScatterTask& task, std::int64_t offset) {
  if (task.values != nullptr) return static_cast<const T*>(task.values)[offset];
  T value{};
  memcpy(&value, &task.value, sizeof(T) < sizeof(task.value) ? sizeof(T) : sizeof(task.value));
  return value;
}

// Element i of slots or positions that were stored as the plan says.
__device__ __forceinline__ std::int64_t number_at(const void* numbers, std::int64_t i, bool is_wide) {
  return is_wide ? static_cast<const std::int64_t*>(numbers)[i]
                 : static_cast<std::int64_t>(static_cast<const unsigned*>(numbers)[i]);
}

}  // namespace tutti::kernels::cuda
