// How a reduction is laid over the GPU: which axes go, what a block works on, and into how many parts long ones are cut.
#pragma once

#include "tutti/kernels/cuda/row_axes.cuh"

namespace tutti::kernels::cuda {

inline constexpr int reduction_block_threads = 512;
inline constexpr int reduction_blocks_per_multiprocessor = 3;
inline constexpr int reduction_group_threads = 128;  // of a block whose threads work in groups

inline constexpr int column_tile = 32;            // columns of a block that has several to a thread
inline constexpr int most_multiprocessors = 256;  // room for partial totals is asked for before the GPU is known

enum class ReductionMapping : std::uint8_t {
  by_group,   // a few neighbouring threads per result: short or very many
  by_block,   // a block per result or part of one
  by_column,  // neighbours in memory belong to different results: a thread stays in its column
};

// What the kernels get. Partial totals of one output are `partial_step` apart, those of one part `output_step`.
struct ReductionTask {
  const void* data = nullptr;
  void* out = nullptr;
  void* partials = nullptr;  // null: it is not cut
  std::int64_t outputs = 1;
  std::int64_t length = 1;  // elements per output
  std::int64_t parts = 1;
  std::int64_t output_step = 1;
  std::int64_t partial_step = 1;
  int lanes = 1;  // by_group: threads per output; by_column: columns per block; a power of two
  RowAxes kept;
  RowAxes reduced;
};

struct ReductionPlan {
  ReductionTask task;
  ReductionMapping mapping = ReductionMapping::by_group;
  bool is_side_by_side = false;  // the elements of an output
  [[nodiscard]] std::int64_t partials() const { return task.parts > 1 ? task.parts * task.outputs : 0; }
};

// What is loaded 16 bytes at a time where it is contiguous; the rest is loaded element by element.
enum class Loads : std::uint8_t { elements, floats, anything };

// What the plan has to know of a reduction.
struct ReductionTraits {
  bool keeps_order = false;  // of the axes; otherwise elements are taken as they are
  Loads loads = Loads::floats;
  int blocks_per_multiprocessor = reduction_blocks_per_multiprocessor;  // that run at once
};
inline constexpr ReductionTraits plain_reduction{};
inline constexpr ReductionTraits single_reduction{.loads = Loads::elements};
inline constexpr ReductionTraits bitwise_reduction{.loads = Loads::anything};  // elements are looked at for being zero
inline constexpr ReductionTraits heavy_reduction{.blocks_per_multiprocessor =
                                                     2};  // totals of more than 8 bytes, or elements of 1
inline constexpr ReductionTraits ordered_reduction{.keeps_order = true, .blocks_per_multiprocessor = 2};

// Whether the columns are contiguous and every row of a pack begins where it can be loaded at once.
inline bool fits_packs(const ReductionTask& task, std::int64_t together, std::size_t element_bytes) {
  const RowAxes& kept = task.kept;
  const int inner = kept.rank - 1;
  if (task.lanes != column_tile || task.reduced.rank != 1 || task.reduced.stride[0] % together != 0) return false;
  if (inner < 0 || kept.stride[inner] != 1 || kept.size[inner] % together != 0) return false;
  for (int i = 0; i < inner; ++i) {
    if (kept.stride[i] % together != 0) return false;
  }
  return reinterpret_cast<std::uintptr_t>(task.data) % (static_cast<std::size_t>(together) * element_bytes) == 0;
}

// Elements that a thread loads at once where they are contiguous.
std::int64_t elements_per_load(DType dtype, const ReductionTraits& traits);

// Rows of contiguous floats that a group of threads reduces, however many there are: of so many bytes at most, by so many
// threads, with so many elements loaded at once.
inline constexpr std::int64_t most_bytes_of_a_row = 4096;
int lanes_of_row(std::int64_t length, DType dtype);
int elements_of_a_row_at_once(DType dtype);  // one of 8 bytes: see InAnyLayout

// More multiprocessors never give fewer parts.
ReductionPlan plan_reduction(const Operand& in, std::uint32_t mask, int multiprocessors,
                             const ReductionTraits& traits = plain_reduction);

}  // namespace tutti::kernels::cuda
