// How places of a tensor are changed on the GPU so that every run gives the same: what each kind of call does, and the memory it
// works in.
#pragma once

#include "tutti/exec/scatter_attributes.h"
#include "tutti/kernels/cuda/index_task.h"

namespace tutti::kernels::cuda {

enum class ScatterMethod : std::uint8_t {
  direct,  // nothing can meet, or what meets is the same
  atomic,  // the order in which values meet does not show
  owner,   // every slot learns the last position that wants it, which then writes
  sorted,  // positions are sorted by slot, and those of one slot are taken one after the other
};

// Offsets into the scratch memory, in bytes.
struct ScatterPlan {
  ScatterMethod method = ScatterMethod::direct;
  bool is_wide = false;  // slots and positions as 64-bit numbers
  std::int64_t other_keys = 0;
  std::int64_t order = 0;
  std::int64_t other_order = 0;
  std::int64_t storage = 0;
  std::int64_t storage_bytes = 0;
  std::int64_t bytes = 0;
};
ScatterPlan plan_scatter(const IndexTask& task, DType dtype, ScatterMode mode);

struct ScatterTask {
  IndexTask space;
  void* region = nullptr;
  const void* values = nullptr;  // null: `value` stands for all
  unsigned long long value = 0;
  const void* owner = nullptr;  // by slot: 1 + the position that writes it
  const void* keys = nullptr;   // slots in order; `space.slots` stands for an index out of range
  const void* order = nullptr;  // the positions that belong to them
  bool is_wide = false;
};

// Where each row of the output has positions of its own: all of the work, in one launch. False: nothing was done.
bool set_in_rows(const ScatterTask& task, Queue& queue, const KernelCall& call);
// Points the task at the last position that wants each slot.
void find_owners(ScatterTask& task, const ScatterPlan& plan, std::byte* scratch, Queue& queue, const KernelCall& call);
// Where positions can reach all of the output: writes each element once, from its owner or from x. False: nothing was done, for
// copying x and then writing what is owned is the better way, or the only one.
bool merge_owned(const ScatterTask& task, Queue& queue, const KernelCall& call);

// Fills keys and order, sorts them, and points the task at the result.
void sort_positions(ScatterTask& task, const ScatterPlan& plan, std::byte* scratch, Queue& queue, const KernelCall& call);

// Integers of any kind, and the least or greatest of floats.
void scatter_atomically(ScatterTask& task, ScatterMode mode, DType dtype, Queue& queue, const KernelCall& call);
// Sums and products of floats, and what meets nothing.
void scatter_in_order(ScatterTask& task, ScatterMode mode, DType dtype, Queue& queue, const KernelCall& call);

}  // namespace tutti::kernels::cuda
