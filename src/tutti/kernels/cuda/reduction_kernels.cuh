// The kernels behind reductions, over any small type of the kind accumulate.cuh describes. Here it also has
//   Out, finish(total)    what is written, or
//   write(out, i, total)  writes it
//   Ending                itself, or what it is derived from and shares with others: all of the above but elements and parts
//   share(task, output, thread, threads)    optional: a thread's total, where elements are not simply loaded from the task's data
//   source(task, first)   optional: where elements come from in any layout
// Every order of combination follows from the plan alone.
#pragma once

#include <algorithm>

#include "tutti/kernels/cuda/column_packs.cuh"
#include "tutti/kernels/cuda/launch.h"
#include "tutti/kernels/cuda/reduction_shares.cuh"

namespace tutti::kernels::cuda {

// Threads that hold much need more registers each: wide totals, runs, words of several small elements.
template <class R>
consteval bool is_lean() {
  if constexpr (TakesGroups<R> || SharesItself<R>) {
    return false;
  } else {
    return sizeof(typename R::Total) <= 8 && sizeof(typename R::Element) > 1;
  }
}

template <class R, bool is_side_by_side>
__global__ void __launch_bounds__(reduction_group_threads)
    reduce_by_group(const __grid_constant__ ReductionTask task, const __grid_constant__ R r) {
  const int lane = static_cast<int>(threadIdx.x) & (task.lanes - 1);
  const int per_block = reduction_group_threads / task.lanes;
  const int in_block = static_cast<int>(threadIdx.x) / task.lanes;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * per_block;
  // Whole blocks go round together: every thread of a warp takes part in the exchange.
  for (std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * per_block; base < task.outputs; base += step) {
    const std::int64_t output = base + in_block;
    typename R::Total total = r.none();
    if (output < task.outputs) total = share_of_output<is_side_by_side>(task, r, output, lane, task.lanes);
    total = lanes_total(r, total, task.lanes);
    if (lane == 0 && output < task.outputs) store_total(task, r, output, 0, total);
  }
}

template <class R, bool is_side_by_side>
__global__ void __launch_bounds__(reduction_block_threads,
                                  is_side_by_side&& is_lean<R>() ? reduction_blocks_per_multiprocessor : 2)
    reduce_by_block(const __grid_constant__ ReductionTask task, const __grid_constant__ R r) {
  using Total = typename R::Total;
  const std::int64_t jobs = task.outputs * task.parts;
  for (std::int64_t job = blockIdx.x; job < jobs; job += gridDim.x) {
    const std::int64_t output = job / task.parts;
    const std::int64_t part = job - output * task.parts;
    const Total mine = share_of_output<is_side_by_side>(task, r, output, part * reduction_block_threads + threadIdx.x,
                                                        task.parts * reduction_block_threads);
    const Total total = block_total<reduction_block_threads>(r, mine);
    if (threadIdx.x == 0) store_total(task, r, output, part, total);
  }
}

template <class R, bool is_one_axis>
__global__ void __launch_bounds__(reduction_block_threads, 2)
    reduce_by_column(const __grid_constant__ ReductionTask task, const __grid_constant__ R r) {
  using Total = typename R::Total;
  __shared__ Total totals[reduction_block_threads];
  const auto thread = static_cast<int>(threadIdx.x);
  const int x = thread & (task.lanes - 1);
  const int y = thread / task.lanes;
  const int height = reduction_block_threads / task.lanes;
  const std::int64_t jobs = (task.outputs + task.lanes - 1) / task.lanes * task.parts;
  for (std::int64_t job = blockIdx.x; job < jobs; job += gridDim.x) {
    const std::int64_t tile = job / task.parts;
    const std::int64_t part = job - tile * task.parts;
    const std::int64_t output = tile * task.lanes + x;
    Total total = r.none();
    if (output < task.outputs) total = share_of_column<is_one_axis>(task, r, output, part * height + y, task.parts * height);
    totals[thread] = total;
    for (int half = height / 2; half > 0; half /= 2) {
      __syncthreads();
      if (y < half) totals[thread] = r.merge(totals[thread], totals[thread + half * task.lanes]);
    }
    if (y == 0 && output < task.outputs) store_total(task, r, output, part, totals[thread]);
    __syncthreads();  // the room is used again
  }
}

// Merges the partial totals begin, begin + step, ... of one output.
template <class E>
__device__ __forceinline__ typename E::Total merged_partials(const ReductionTask& task, const E& e, std::int64_t output,
                                                             std::int64_t begin, std::int64_t step) {
  const auto* partials = static_cast<const typename E::Total*>(task.partials) + output * task.output_step;
  typename E::Total total = e.none();
#pragma unroll 4
  for (std::int64_t i = begin; i < task.parts; i += step) total = e.merge(total, partials[i * task.partial_step]);
  return total;
}

// Few partial totals per output, or none: then it is what a reduction of nothing gives.
template <class E>
__global__ void __launch_bounds__(reduction_group_threads)
    finish_by_thread(const __grid_constant__ ReductionTask task, const __grid_constant__ E e) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * reduction_group_threads;
  for (std::int64_t output = static_cast<std::int64_t>(blockIdx.x) * reduction_group_threads + threadIdx.x; output < task.outputs;
       output += step) {
    write_result(task, e, output, merged_partials(task, e, output, 0, 1));
  }
}

template <class E>
__global__ void __launch_bounds__(reduction_group_threads)
    finish_by_block(const __grid_constant__ ReductionTask task, const __grid_constant__ E e) {
  for (std::int64_t output = blockIdx.x; output < task.outputs; output += gridDim.x) {
    const auto mine = merged_partials(task, e, output, threadIdx.x, reduction_group_threads);
    const auto total = block_total<reduction_group_threads>(e, mine);
    if (threadIdx.x == 0) write_result(task, e, output, total);
  }
}

// The kernels go round as often as needed.
inline unsigned blocks_for(std::int64_t wanted) { return static_cast<unsigned>(std::min<std::int64_t>(wanted, 1 << 30)); }

inline unsigned blocks_of_groups(const ReductionTask& task, int per_block) {
  return blocks_for((task.outputs + per_block - 1) / per_block);
}

// Merges partial totals and writes what they give.
template <class Ending>
void finish_reduction(const ReductionTask& task, const Ending& ending, Queue& queue, const KernelCall& call) {
  if (task.length > 0 && task.parts >= 64) {
    launch<finish_by_block<Ending>>(queue, call, {blocks_for(task.outputs), reduction_group_threads}, task, ending);
  } else {
    launch<finish_by_thread<Ending>>(queue, call, {blocks_of_groups(task, reduction_group_threads), reduction_group_threads},
                                     task, ending);
  }
}

// Where they lie in packs.
template <class R>
void run_column_packs(const ReductionTask& task, const R& r, Queue& queue, const KernelCall& call) {
  const unsigned blocks = blocks_for((task.outputs + column_tile - 1) / column_tile * task.parts);
  launch<reduce_by_column_pack<R>>(queue, call, {blocks, column_pack_threads}, task, r);
  if (task.partials != nullptr) finish_reduction<typename R::Ending>(task, r, queue, call);
}

template <class R>
void run_reduction(const ReductionPlan& plan, const R& r, Queue& queue, const KernelCall& call) {
  if constexpr (!HasOneForm<R>) {
    if constexpr (sizeof(typename R::Element) == 8) return run_reduction(plan, InAnyLayout<R>{r}, queue, call);
  }
  using Ending = typename R::Ending;
  const ReductionTask& task = plan.task;
  if (task.length > 0) {
    switch (plan.mapping) {
      case ReductionMapping::by_group: {
        const Grid grid{blocks_of_groups(task, reduction_group_threads / task.lanes), reduction_group_threads};
        if constexpr (!HasOneForm<R>) {
          if (!plan.is_side_by_side) {
            launch<reduce_by_group<R, false>>(queue, call, grid, task, r);
            break;
          }
        }
        launch<reduce_by_group<R, true>>(queue, call, grid, task, r);
        break;
      }
      case ReductionMapping::by_block: {
        const Grid grid{blocks_for(task.outputs * task.parts), reduction_block_threads};
        if constexpr (!HasOneForm<R>) {
          if (!plan.is_side_by_side) {
            launch<reduce_by_block<R, false>>(queue, call, grid, task, r);
            break;
          }
        }
        launch<reduce_by_block<R, true>>(queue, call, grid, task, r);
        break;
      }
      case ReductionMapping::by_column: {
        if constexpr (takes_column_packs<R>()) {
          if (fits_packs(task, columns_together<R>(), sizeof(typename R::Element))) return run_column_packs(task, r, queue, call);
        }
        const Grid grid{blocks_for((task.outputs + task.lanes - 1) / task.lanes * task.parts), reduction_block_threads};
        if constexpr (!HasOneForm<R>) {
          if (task.reduced.rank != 1) {
            launch<reduce_by_column<R, false>>(queue, call, grid, task, r);
            break;
          }
        }
        launch<reduce_by_column<R, true>>(queue, call, grid, task, r);
        break;
      }
    }
    if (task.partials == nullptr) return;
  }
  finish_reduction<Ending>(task, r, queue, call);
}

}  // namespace tutti::kernels::cuda
