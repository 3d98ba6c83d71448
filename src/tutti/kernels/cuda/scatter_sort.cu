#include <atomic>
#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <optional>

#include "tutti/base/error.h"
#include "tutti/hal/door.h"
#include "tutti/kernels/cuda/scatter_combine.cuh"

namespace tutti::kernels::cuda {

namespace {

template <class Number>
__global__ void __launch_bounds__(index_threads)
    number_positions(const __grid_constant__ IndexTask task, Number* keys, Number* order) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * index_threads;
  for (std::int64_t position = static_cast<std::int64_t>(blockIdx.x) * index_threads + threadIdx.x; position < task.count;
       position += step) {
    Located at;
    const bool is_in = locate(task, position, true, at);
    keys[position] = static_cast<Number>(is_in ? at.slot : task.slots);
    order[position] = static_cast<Number>(position);
  }
}

template <class Number, class Count>
void sort(ScatterTask& task, const ScatterPlan& plan, std::byte* scratch, Queue& queue, const KernelCall& call) {
  static std::atomic<bool> is_loaded{false};
  auto* const keys = reinterpret_cast<Number*>(scratch);
  auto* const order = reinterpret_cast<Number*>(scratch + plan.order);
  launch<number_positions<Number>>(queue, call, deal_positions(task.space, queue), task.space, keys, order);
  cub::DoubleBuffer<Number> key_buffers(keys, reinterpret_cast<Number*>(scratch + plan.other_keys));
  cub::DoubleBuffer<Number> order_buffers(order, reinterpret_cast<Number*>(scratch + plan.other_order));
  std::optional<BlockingRegion> loading;
  if (!is_loaded.load(std::memory_order_acquire)) loading.emplace(SyncReason::module_load, call.site);
  const int bits = std::bit_width(static_cast<std::uint64_t>(task.space.slots));
  const auto run = [&](void* storage, std::size_t& bytes) {
    check(cub::DeviceRadixSort::SortPairs(storage, bytes, key_buffers, order_buffers, static_cast<Count>(task.space.count), 0,
                                          bits, queue.stream()),
          "sort", call);
  };
  std::size_t bytes = 0;
  run(nullptr, bytes);
  if (bytes > static_cast<std::size_t>(plan.storage_bytes))
    throw KernelFailed("the sort of the indices asks for more memory than was set aside for it", call.site);
  run(scratch + plan.storage, bytes);
  is_loaded.store(true, std::memory_order_release);
  task.keys = key_buffers.Current();
  task.order = order_buffers.Current();
  task.is_wide = plan.is_wide;
}

}  // namespace

// Stable: positions of one slot stay in order.
void sort_positions(ScatterTask& task, const ScatterPlan& plan, std::byte* scratch, Queue& queue, const KernelCall& call) {
  if (plan.is_wide) return sort<std::uint64_t, std::int64_t>(task, plan, scratch, queue, call);
  sort<std::uint32_t, std::uint32_t>(task, plan, scratch, queue, call);
}

}  // namespace tutti::kernels::cuda
