#include "tutti/kernels/cuda/elementwise.h"
#include "tutti/kernels/cuda/scatter_combine.cuh"

namespace tutti::kernels::cuda {

namespace {

constexpr int in_flight = 4;  // values loaded before they are taken in, in order

// The values at `offset` of the positions after `first` that have the same slot.
template <ScatterMode mode, class T>
__device__ __forceinline__ Working<T> take_in(const ScatterTask& task, std::int64_t first, std::int64_t slot, std::int64_t offset,
                                              Working<T> sum) {
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
      if (u < found) sum = combined<mode>(sum, widen(some[u]));
    }
    if (found < in_flight) return sum;
  }
}

// The first position of each slot takes in all of them, one after the other; half precision is rounded once.
template <ScatterMode mode, class T>
__global__ void __launch_bounds__(index_threads) update_in_order(const __grid_constant__ ScatterTask task) {
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
      Working<T> sum = combined<mode>(widen(element), widen(value_at<T>(task, at.value + offset)));
      if (task.keys != nullptr) sum = take_in<mode, T>(task, number, slot, offset, sum);
      element = narrow<T>(sum);
    }
  }
}

template <ScatterMode mode>
void by_dtype(ScatterTask& task, DType dtype, Queue& queue, const KernelCall& call) {
  const Grid grid = deal_slices(task.space, queue);
  switch (dtype) {
    case DType::f16: return launch<update_in_order<mode, __half>>(queue, call, grid, task);
    case DType::bf16: return launch<update_in_order<mode, __nv_bfloat16>>(queue, call, grid, task);
    case DType::f32: return launch<update_in_order<mode, float>>(queue, call, grid, task);
    case DType::f64: return launch<update_in_order<mode, double>>(queue, call, grid, task);
    default: refuse_dtype(call, dtype);
  }
}

}  // namespace

void scatter_in_order(ScatterTask& task, ScatterMode mode, DType dtype, Queue& queue, const KernelCall& call) {
  if (mode == ScatterMode::add) return by_dtype<ScatterMode::add>(task, dtype, queue, call);
  by_dtype<ScatterMode::multiply>(task, dtype, queue, call);
}

}  // namespace tutti::kernels::cuda
