#include <algorithm>
#include <bit>

#include "tutti/exec/index_message.h"
#include "tutti/kernels/cuda/index_task.h"

namespace tutti::kernels::cuda {

namespace {

constexpr int units_per_thread = 4;  // of a slice, wanted at least before more threads share it

std::string describe_index(const tutti::cuda::Trap& trap) {
  return index_out_of_range(trap.first, static_cast<std::int64_t>(trap.code) - 1, trap.second);
}

}  // namespace

IndexTask index_task(const IndexSpace& space, const Operand* indices) {
  IndexTask task{};
  const std::size_t axes = space.rank - space.inner;
  task.rank = static_cast<int>(axes);
  task.indices = static_cast<int>(space.indices);
  task.count = space.count(0, axes);
  std::int64_t most = 1;  // as if no axis were empty
  for (std::size_t i = 0; i < axes; ++i) most *= std::max<std::int64_t>(1, space.size[i]);
  task.is_small = most < (std::int64_t{1} << 31U);
  for (std::size_t k = 0; k < space.indices; ++k) {
    task.from[k] = indices[k].data;
    if (indices[k].dtype == DType::i64) task.wide |= 1U << k;
    task.indexed_size[k] = space.indexed[k].size;
    task.indexed_stride[k] = space.indexed[k].stride;
    task.indexed_slot[k] = task.slots;
    task.name[k] = static_cast<int>(space.indexed[k].axis);
    task.slots *= std::max<std::int64_t>(1, space.indexed[k].size);
  }
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t from = axes - 1 - i;
    task.size[i] = space.size[from];
    task.divisor[i] = Divisor<std::uint32_t>(task.is_small ? std::max<std::int64_t>(1, space.size[from]) : 1);
    task.place[i] = space.place[from];
    task.value[i] = space.value[from];
    task.slot[i] = space.place[from] == 0 ? 0 : task.slots;
    if (space.place[from] != 0) task.slots *= std::max<std::int64_t>(1, space.size[from]);
    for (std::size_t k = 0; k < space.indices; ++k) task.index[i][k] = space.index[from][k];
  }
  task.slice = space.slice_count();
  for (std::size_t i = axes; i < space.rank; ++i) {
    task.inner_place.push_back({space.size[i], space.place[i]});
    task.inner_value.push_back({space.size[i], space.value[i]});
  }
  return task;
}

std::int64_t into_units(IndexTask& task, const void* places, const void* values, std::int64_t element_bytes) {
  if (!task.is_dense() || task.slice == 0) return element_bytes;
  auto bits = std::uint64_t{16} | reinterpret_cast<std::uintptr_t>(places) | reinterpret_cast<std::uintptr_t>(values);
  const auto add = [&](std::int64_t elements) { bits |= static_cast<std::uint64_t>(elements * element_bytes); };
  add(task.slice);
  for (int i = 0; i < task.rank; ++i) {
    add(task.place[i]);
    add(task.value[i]);
  }
  for (int k = 0; k < task.indices; ++k) add(task.indexed_stride[k]);
  const std::int64_t bytes = std::int64_t{1} << std::countr_zero(bits);
  const std::int64_t elements = bytes / element_bytes;
  if (elements <= 1) return element_bytes;
  task.slice /= elements;
  for (int i = 0; i < task.rank; ++i) {
    task.place[i] /= elements;
    task.value[i] /= elements;
  }
  for (int k = 0; k < task.indices; ++k) task.indexed_stride[k] /= elements;
  task.inner_place = task.inner_value = {};
  task.inner_place.push_back({task.slice, 1});
  task.inner_value.push_back({task.slice, 1});
  return bytes;
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

Grid deal_positions(const IndexTask& task, const Queue& queue) {
  const std::int64_t blocks = (task.count + index_threads - 1) / index_threads;
  const std::int64_t most = std::int64_t{64} * queue.properties().multiprocessors;
  return {.blocks = dim3(static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, most))), .threads = dim3(index_threads)};
}

void arm_index_trap(IndexTask& task, Queue& queue) {
  if (task.indices > 0) task.trap = queue.arm_trap(describe_index);
}

}  // namespace tutti::kernels::cuda
