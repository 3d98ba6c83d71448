// The axes of one operand in row-major order, outermost first, as a kernel gets them in its parameters.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tutti/exec/kernel.h"

namespace tutti::kernels::cuda {

struct RowAxes {
  int rank = 0;
  std::int64_t size[most_axes];
  std::int64_t stride[most_axes];  // in elements

  // Adds an inner axis. Joins it with the one before where both step alike; leaves out one of size 1.
  void push_back(const Axis& axis) {
    if (axis.size == 1) return;
    if (rank > 0 && stride[rank - 1] == axis.size * axis.stride) {
      size[rank - 1] *= axis.size;
      stride[rank - 1] = axis.stride;
      return;
    }
    size[rank] = axis.size;
    stride[rank] = axis.stride;
    ++rank;
  }
  [[nodiscard]] bool is_dense() const { return rank == 0 || (rank == 1 && stride[0] == 1); }
};

// The axes first ... last - 1 of an operand.
inline RowAxes row_axes(const Operand& operand, std::size_t first, std::size_t last) {
  RowAxes axes;
  for (std::size_t i = first; i < last; ++i) axes.push_back(operand.axes[i]);
  return axes;
}

// How far, in elements, element i in row-major order lies from the first.
__device__ __forceinline__ std::int64_t offset_of(const RowAxes& axes, std::int64_t i) {
  if (axes.rank == 0) return 0;
  std::int64_t offset = 0;
  for (int axis = axes.rank - 1; axis > 0; --axis) {
    const std::int64_t rest = i / axes.size[axis];
    offset += (i - rest * axes.size[axis]) * axes.stride[axis];
    i = rest;
  }
  return offset + i * axes.stride[0];
}

}  // namespace tutti::kernels::cuda
