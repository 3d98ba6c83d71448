// The place of an element among all of a tensor, which is read in the order of memory: by lines, within which places rise.
#pragma once

#include "tutti/kernels/cuda/reduction_plan.cuh"

namespace tutti::kernels::cuda {

inline constexpr int argument_blocks_per_multiprocessor = 2;

constexpr std::int64_t most_argument_parts(int multiprocessors) {
  return std::int64_t{multiprocessors} * argument_blocks_per_multiprocessor;
}

struct ArgumentLines {
  ReductionTask task;  // a part is a block, length and the reduced axis those of a line
  std::int64_t lines = 1;
  RowAxes starts;               // where lines begin in memory
  RowAxes places;               // the same axes: the place of a line's first element
  std::int64_t place_step = 1;  // along a line
};

// There is at least one element.
ArgumentLines argument_lines(const Operand& in, int multiprocessors);

}  // namespace tutti::kernels::cuda
