#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

#include "tutti/exec/index_message.h"
#include "tutti/kernels/cuda/index_task.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels::cuda {

namespace {

constexpr int units_per_thread = 4;  // of a slice, wanted at least before more threads share it

std::string describe_index(const tutti::cuda::Trap& trap) {
  return index_out_of_range(trap.first, static_cast<std::int64_t>(trap.code) - 1, trap.second);
}

// Neighbouring slots are neighbouring places.
void number_slots(IndexTask& task) {
  struct Axis {
    std::int64_t size;
    std::int64_t place;
    std::int64_t* slot;
  };
  std::array<Axis, 2 * most_axes> axes;
  std::size_t n = 0;
  for (int k = 0; k < task.indices; ++k) axes[n++] = {task.indexed_size[k], task.indexed_stride[k], &task.indexed_slot[k]};
  for (int i = 0; i < task.positions.rank; ++i) {
    task.slot[i] = 0;
    if (task.place[i] != 0) axes[n++] = {task.positions.size[i], task.place[i], &task.slot[i]};
  }
  std::sort(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(n),
            [](const Axis& a, const Axis& b) { return std::abs(a.place) < std::abs(b.place); });
  for (std::size_t i = 0; i < n; ++i) {
    *axes[i].slot = task.slots;
    task.slots *= std::max<std::int64_t>(1, axes[i].size);
  }
}

}  // namespace

IndexTask index_task(const IndexSpace& space, const Operand* indices) {
  IndexTask task{};
  const std::size_t axes = space.rank - space.inner;
  task.indices = static_cast<int>(space.indices);
  task.count = space.count(0, axes);
  for (std::size_t k = 0; k < space.indices; ++k) {
    task.from[k] = indices[k].data;
    if (is_wide_index(indices[k].dtype)) task.wide |= 1U << k;
    task.indexed_size[k] = space.indexed[k].size;
    task.indexed_stride[k] = space.indexed[k].stride;
    task.name[k] = static_cast<int>(space.indexed[k].axis);
  }
  std::int64_t most = 1;  // as if no axis were empty
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t from = axes - 1 - i;
    most *= std::max<std::int64_t>(1, space.size[from]);
    task.positions.push_back(space.size[from]);
    task.place[i] = space.place[from];
    task.value[i] = space.value[from];
    for (std::size_t k = 0; k < space.indices; ++k) task.index[k][i] = space.index[from][k];
  }
  task.is_small = most < Numbering::few;
  number_slots(task);
  task.slice = space.slice_count();
  for (std::size_t i = axes; i < space.rank; ++i) {
    task.inner_place.push_back({space.size[i], space.place[i]});
    task.inner_value.push_back({space.size[i], space.value[i]});
  }
  return task;
}

std::int64_t into_units(IndexTask& task, std::initializer_list<const void*> memory, std::int64_t element_bytes) {
  if (!task.is_dense() || task.slice == 0) return element_bytes;
  std::uint64_t bits = 16;
  for (const void* address : memory) bits |= reinterpret_cast<std::uintptr_t>(address);
  const auto add = [&](std::int64_t elements) { bits |= static_cast<std::uint64_t>(elements * element_bytes); };
  add(task.slice);
  for (int i = 0; i < task.positions.rank; ++i) {
    add(task.place[i]);
    add(task.value[i]);
  }
  for (int k = 0; k < task.indices; ++k) add(task.indexed_stride[k]);
  const std::int64_t bytes = std::int64_t{1} << std::countr_zero(bits);
  const std::int64_t elements = bytes / element_bytes;
  if (elements <= 1) return element_bytes;
  task.slice /= elements;
  for (int i = 0; i < task.positions.rank; ++i) {
    task.place[i] /= elements;
    task.value[i] /= elements;
  }
  for (int k = 0; k < task.indices; ++k) task.indexed_stride[k] /= elements;
  task.inner_place = task.inner_value = {};
  task.inner_place.push_back({task.slice, 1});
  task.inner_value.push_back({task.slice, 1});
  return bytes;
}

void into_single_units(IndexTask& task, const IndexSpace& space) {
  if (task.slice == 1) return;
  IndexTask all = task;
  all.positions = {};
  const auto push = [&](std::int64_t size, std::int64_t place, std::int64_t value) {
    const int axis = all.positions.rank;
    all.positions.push_back(size);
    all.place[axis] = place;
    all.value[axis] = value;
    for (int k = 0; k < task.indices; ++k) all.index[k][axis] = 0;
  };
  if (task.is_dense()) {
    push(task.slice, 1, 1);
  } else {
    for (std::size_t i = space.rank; i-- > space.rank - space.inner;) push(space.size[i], space.place[i], space.value[i]);
  }
  for (int i = 0; i < task.positions.rank; ++i) {
    push(task.positions.size[i], task.place[i], task.value[i]);
    for (int k = 0; k < task.indices; ++k) all.index[k][all.positions.rank - 1] = task.index[k][i];
  }
  all.count *= task.slice;
  all.is_small = all.count < Numbering::few;
  all.slice = 1;
  all.inner_place = all.inner_value = {};
  task = all;
}

Grid deal_slices(IndexTask& task, const Queue& queue) {
  // Enough threads per slice to move it in a few rounds, then more blocks per slice while there are few slices.
  const std::int64_t wanted = std::clamp<std::int64_t>((task.slice + units_per_thread - 1) / units_per_thread, 1, index_threads);
  task.lanes = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(wanted)));
  const std::int64_t per_block = index_threads / task.lanes;
  const std::int64_t blocks = std::max<std::int64_t>(1, (task.count + per_block - 1) / per_block);
  const std::int64_t enough = std::int64_t{16} * queue.properties().multiprocessors;
  const std::int64_t most_chunks = std::max<std::int64_t>(1, task.slice / (index_threads * units_per_thread));
  std::int64_t chunks = std::clamp<std::int64_t>(enough / blocks, 1, std::min<std::int64_t>(most_chunks, 65535));
  task.chunk = std::max<std::int64_t>(1, (task.slice + chunks - 1) / chunks);
  chunks = std::max<std::int64_t>(1, (task.slice + task.chunk - 1) / task.chunk);
  return {.blocks = dim3(static_cast<unsigned>(std::min<std::int64_t>(blocks, 1 << 30)), static_cast<unsigned>(chunks)),
          .threads = dim3(index_threads)};
}

Runs deal_runs(std::int64_t count, const Queue& queue) {
  constexpr std::int64_t tile = index_threads * positions_in_flight;
  constexpr std::int64_t longest = 8;  // tiles; a block's share of a cache holds a line of that many elements
  const std::int64_t tiles = std::max<std::int64_t>(1, (count + tile - 1) / tile);
  const std::int64_t enough = std::int64_t{16} * queue.properties().multiprocessors;
  const std::int64_t run = std::clamp<std::int64_t>(tiles / enough, 1, longest);
  return {{.blocks = dim3(static_cast<unsigned>((tiles + run - 1) / run)), .threads = dim3(index_threads)}, run * tile};
}

void arm_index_trap(IndexTask& task, Queue& queue) {
  if (task.indices > 0) task.trap = queue.arm_trap(describe_index);
}

}  // namespace tutti::kernels::cuda
