// Positions put in the order of their slots, and values that are combined with the elements they meet.
#include <bit>

#include "tutti/kernels/cuda/device_radix_sort.h"
#include "tutti/kernels/cuda/scatter_atomic.cuh"

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

template <class Number>
void sort(ScatterTask& task, const ScatterPlan& plan, std::byte* scratch, Queue& queue, const KernelCall& call) {
  const auto part = [&](std::int64_t offset) { return reinterpret_cast<Number*>(scratch + offset); };
  const Runs runs = deal_runs(task.space.count, queue);
  launch<number_positions<Number>>(queue, call, runs.grid, task.space, part(0), part(plan.order), runs.length);
  const int bits = std::bit_width(static_cast<std::uint64_t>(task.space.slots));
  const auto sorted = radix_sort_pairs(part(0), part(plan.other_keys), part(plan.order), part(plan.other_order), task.space.count,
                                       bits, scratch + plan.storage, plan.storage_bytes, call, queue);
  task.keys = sorted.keys;
  task.order = sorted.numbers;
  task.is_wide = plan.is_wide;
}

constexpr int in_flight = 4;  // values loaded before they are taken in, in order

// The values at `offset` of the positions after `first` that have the same slot.
template <class T>
__device__ __forceinline__ Working<T> take_in(const ScatterTask& task, std::int64_t first, std::int64_t slot, std::int64_t offset,
                                              Working<T> sum, const Accumulate& combine) {
  const IndexTask& space = task.space;
  for (std::int64_t next = first + 1;; next += in_flight) {
    T some[in_flight];
    int found = 0;
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      if (found != u || next + u >= space.count || number_at(task.keys, next + u, task.is_wide) != slot) continue;
      some[u] = value_at<T>(task, value_of(space, number_at(task.order, next + u, task.is_wide)) + offset);
      found = u + 1;
    }
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      if (u < found) sum = combine(sum, widen(some[u]));
    }
    if (found < in_flight) return sum;
  }
}

// The first position of each slot takes in all of them, one after the other; half precision is rounded once.
template <class T>
__global__ void __launch_bounds__(index_threads) update_in_order(const __grid_constant__ ScatterTask task, Accumulate combine) {
  const IndexTask& space = task.space;
  const Share share = share_of(space);
  for (std::int64_t number = share.first; number < space.count; number += share.step) {
    std::int64_t position = number;
    std::int64_t slot = 0;
    if (task.keys != nullptr) {
      slot = number_at(task.keys, number, task.is_wide);
      if (slot == space.slots || (number > 0 && number_at(task.keys, number - 1, task.is_wide) == slot)) continue;
      position = number_at(task.order, number, task.is_wide);
    }
    Located at;
    if (!locate(space, position, share.lane == 0, at)) continue;
    T* to = static_cast<T*>(task.region) + at.place;
    for (std::int64_t i = share.begin + share.lane; i < share.end; i += space.lanes) {
      const std::int64_t offset = offset_of(space.inner_value, i);
      T& element = to[offset_of(space.inner_place, i)];
      Working<T> sum = combine(widen(element), widen(value_at<T>(task, at.value + offset)));
      if (task.keys != nullptr) sum = take_in<T>(task, number, slot, offset, sum, combine);
      element = narrow<T>(sum);
    }
  }
}

template <class T, class Combine>
void launch_update(ScatterTask& task, const Combine& combine, Queue& queue, const KernelCall& call) {
  const Grid grid = deal_slices(task.space, queue);
  launch<update_slices<T, Combine>>(queue, call, grid, task, combine);
}

void take_extremes(ScatterTask& task, bool wants_least, DType dtype, Queue& queue, const KernelCall& call) {
  const Extreme extreme{wants_least};
  if (dtype == DType::boolean) return launch_update<std::uint8_t>(task, extreme, queue, call);
  visit_stored<numeric_dtypes>(dtype, [&]<class T>(T) { launch_update<T>(task, extreme, queue, call); });
}

}  // namespace

// Stable: positions of one slot stay in order.
void sort_positions(ScatterTask& task, const ScatterPlan& plan, std::byte* scratch, Queue& queue, const KernelCall& call) {
  if (plan.is_wide) return sort<std::uint64_t>(task, plan, scratch, queue, call);
  sort<std::uint32_t>(task, plan, scratch, queue, call);
}

void scatter_atomically(ScatterTask& task, ScatterMode mode, DType dtype, Queue& queue, const KernelCall& call) {
  const bool multiplies = mode == ScatterMode::multiply;
  if (mode == ScatterMode::minimum || mode == ScatterMode::maximum)
    return take_extremes(task, mode == ScatterMode::minimum, dtype, queue, call);
  // A sum of bools is "or", the greatest; a product "and", the least.
  if (dtype == DType::boolean) return take_extremes(task, multiplies, dtype, queue, call);
  visit_stored<integer_dtypes>(
      dtype, [&]<class T>(T) { launch_update<std::make_unsigned_t<T>>(task, Accumulate{multiplies}, queue, call); });
}

void scatter_in_order(ScatterTask& task, ScatterMode mode, DType dtype, Queue& queue, const KernelCall& call) {
  const Grid grid = deal_slices(task.space, queue);
  visit_stored<floating_dtypes>(
      dtype, [&]<class T>(T) { launch<update_in_order<T>>(queue, call, grid, task, Accumulate{mode == ScatterMode::multiply}); });
}

}  // namespace tutti::kernels::cuda
