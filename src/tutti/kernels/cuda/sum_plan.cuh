// How a sum is laid over the GPU: which axes are summed, what a block works on, and into how many parts long sums are cut.
#pragma once

#include "tutti/kernels/cuda/row_axes.cuh"

namespace tutti::kernels::cuda {

inline constexpr int sum_block_threads = 512;
inline constexpr int sum_blocks_per_multiprocessor = 3;
inline constexpr int sum_group_threads = 256;  // of a block whose threads work in groups

enum class SumMapping : std::uint8_t {
  by_group,   // a few neighbouring threads per sum: short or very many
  by_block,   // a block per sum or part of one
  by_column,  // neighbours in memory belong to different sums: a thread stays in its column
};

// What the kernels get. Partial sums of one output are `partial_step` apart, those of one part `output_step`.
struct SumTask {
  const void* data = nullptr;
  void* out = nullptr;
  void* partials = nullptr;  // null: the sum is not cut
  std::int64_t outputs = 1;
  std::int64_t length = 1;  // elements per sum
  std::int64_t parts = 1;
  std::int64_t output_step = 1;
  std::int64_t partial_step = 1;
  int lanes = 1;  // by_group: threads per sum; by_column: columns per block; a power of two
  RowAxes kept;
  RowAxes summed;
};

struct SumPlan {
  SumTask task;
  SumMapping mapping = SumMapping::by_group;
  bool is_side_by_side = false;  // the elements of a sum
  [[nodiscard]] std::int64_t partial_bytes() const { return task.parts > 1 ? task.parts * task.outputs * 8 : 0; }
};

// More multiprocessors never give fewer parts.
SumPlan plan_sum(const Operand& in, std::uint32_t mask, int multiprocessors);

}  // namespace tutti::kernels::cuda
