#include <bit>

#include "tutti/kernels/cuda/device_radix_sort.cuh"
#include "tutti/kernels/cuda/scatter_combine.cuh"

namespace tutti::kernels::cuda {

namespace {

template <class Number>
__global__ void __launch_bounds__(index_threads)
    number_positions(const __grid_constant__ IndexTask task, Number* keys, Number* order, std::int64_t run) {
  const std::int64_t begin = blockIdx.x * run;
  const std::int64_t end = begin + run < task.count ? begin + run : task.count;
  for (std::int64_t position = begin + threadIdx.x; position < end; position += index_threads) {
    Located at;
    const bool is_in = locate(task, position, true, at);
    keys[position] = static_cast<Number>(is_in ? at.slot : task.slots);
    order[position] = static_cast<Number>(position);
  }
}

template <class Number, class Count>
void sort(ScatterTask& task, const ScatterPlan& plan, std::byte* scratch, Queue& queue, const KernelCall& call) {
  const auto part = [&](std::int64_t offset) { return reinterpret_cast<Number*>(scratch + offset); };
  const Runs runs = deal_runs(task.space.count, queue);
  launch<number_positions<Number>>(queue, call, runs.grid, task.space, part(0), part(plan.order), runs.length);
  const int bits = std::bit_width(static_cast<std::uint64_t>(task.space.slots));
  const auto sorted =
      radix_sort_pairs(part(0), part(plan.other_keys), part(plan.order), part(plan.other_order),
                       static_cast<Count>(task.space.count), bits, scratch + plan.storage, plan.storage_bytes, call, queue);
  task.keys = sorted.keys;
  task.order = sorted.numbers;
  task.is_wide = plan.is_wide;
}

}  // namespace

// Stable: positions of one slot stay in order.
void sort_positions(ScatterTask& task, const ScatterPlan& plan, std::byte* scratch, Queue& queue, const KernelCall& call) {
  if (plan.is_wide) return sort<std::uint64_t, std::int64_t>(task, plan, scratch, queue, call);
  sort<std::uint32_t, std::uint32_t>(task, plan, scratch, queue, call);
}

}  // namespace tutti::kernels::cuda
