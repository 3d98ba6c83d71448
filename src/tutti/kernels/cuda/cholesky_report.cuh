// What becomes of a matrix that is not positive definite.
#pragma once

#include <cstdint>
#include <limits>

#include "tutti/kernels/cuda/trap.cuh"

namespace tutti::kernels::cuda {

// By one thread for each matrix, also where it is fine (order 0). With info the caller decides; without, the op fails.
__device__ __forceinline__ void report(std::int32_t* info, tutti::cuda::Trap* trap, std::int64_t matrix, int order) {
  if (info != nullptr) {
    info[matrix] = order;
  } else if (order != 0) {
    note(trap, 1, matrix, order);
  }
}

// Of a matrix that has no factor.
template <class T>
inline constexpr T no_factor = std::numeric_limits<T>::quiet_NaN();

}  // namespace tutti::kernels::cuda
