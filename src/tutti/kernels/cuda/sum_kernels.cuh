// The kernels behind sum, over any element type. Every order of additions follows from the plan alone.
#pragma once

#include <algorithm>
#include <cub/block/block_reduce.cuh>

#include "tutti/kernels/cuda/accumulate.cuh"
#include "tutti/kernels/cuda/launch.h"
#include "tutti/kernels/cuda/math.cuh"
#include "tutti/kernels/cuda/sum_plan.cuh"

namespace tutti::kernels::cuda {

// Elements are added as Part a few at a time, these as Total. Unsigned: integers wrap.
template <class T>
struct Summing {
  using Total = unsigned long long;
  using Part = std::conditional_t<(sizeof(T) < 4), int, unsigned long long>;
  using Out = long long;
  __device__ __forceinline__ Part operator()(T x) const { return static_cast<Part>(x); }
  static __device__ __forceinline__ Out finish(Total total) { return static_cast<Out>(total); }
};
template <class T>
  requires(is_half<T> || std::is_floating_point_v<T>)
struct Summing<T> {
  using Total = double;
  using Part = Working<T>;
  using Out = T;
  __device__ __forceinline__ Part operator()(T x) const { return widen(x); }
  static __device__ __forceinline__ Out finish(Total total) {
    if constexpr (std::is_same_v<T, __half>) {
      return __double2half(total);
    } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
      return __double2bfloat16(total);
    } else {
      return static_cast<T>(total);
    }
  }
};

// One axis.
template <class T>
struct SteppedElements {
  using Part = typename Summing<T>::Part;
  using Loaded = T;
  const T* first;
  std::int64_t stride;
  __device__ __forceinline__ T load(std::int64_t i) const { return first[i * stride]; }
  __device__ __forceinline__ Part part(T loaded) const { return Summing<T>{}(loaded); }
};

template <class T>
struct ScatteredElements {
  using Part = typename Summing<T>::Part;
  using Loaded = T;
  const T* first;
  const RowAxes& axes;
  __device__ __forceinline__ T load(std::int64_t i) const { return first[offset_of(axes, i)]; }
  __device__ __forceinline__ Part part(T loaded) const { return Summing<T>{}(loaded); }
};

// A thread's share of one sum that `threads` threads work on.
template <class T, bool is_side_by_side>
__device__ __forceinline__ typename Summing<T>::Total share_of_sum(const SumTask& task, std::int64_t output, std::int64_t thread,
                                                                   std::int64_t threads) {
  using Total = typename Summing<T>::Total;
  const T* first = static_cast<const T*>(task.data) + offset_of(task.kept, output);
  if constexpr (is_side_by_side) {
    return contiguous_sum<Total>(first, task.length, thread, threads, Summing<T>{});
  } else {
    return strided_sum<Total, 4>(ScatteredElements<T>{first, task.summed}, thread, task.length, threads);
  }
}

template <class T>
__device__ __forceinline__ void store_sum(const SumTask& task, std::int64_t output, std::int64_t part,
                                          typename Summing<T>::Total total) {
  if (task.partials != nullptr) {
    static_cast<typename Summing<T>::Total*>(task.partials)[output * task.output_step + part * task.partial_step] = total;
  } else {
    static_cast<typename Summing<T>::Out*>(task.out)[output] = Summing<T>::finish(total);
  }
}

template <class T, bool is_side_by_side>
__global__ void __launch_bounds__(sum_group_threads) sum_by_group(const __grid_constant__ SumTask task) {
  const int lane = static_cast<int>(threadIdx.x) & (task.lanes - 1);
  const int per_block = sum_group_threads / task.lanes;
  const int in_block = static_cast<int>(threadIdx.x) / task.lanes;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * per_block;
  // Whole blocks go round together: every thread of a warp takes part in the exchange.
  for (std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * per_block; base < task.outputs; base += step) {
    const std::int64_t output = base + in_block;
    typename Summing<T>::Total total = 0;
    if (output < task.outputs) total = share_of_sum<T, is_side_by_side>(task, output, lane, task.lanes);
    for (int distance = task.lanes / 2; distance > 0; distance /= 2) total += __shfl_xor_sync(0xffffffffU, total, distance);
    if (lane == 0 && output < task.outputs) store_sum<T>(task, output, 0, total);
  }
}

template <class T, bool is_side_by_side>
__global__ void __launch_bounds__(sum_block_threads, is_side_by_side ? sum_blocks_per_multiprocessor : 2)
    sum_by_block(const __grid_constant__ SumTask task) {
  using Total = typename Summing<T>::Total;
  using Reduce = cub::BlockReduce<Total, sum_block_threads>;
  __shared__ typename Reduce::TempStorage storage;
  const std::int64_t jobs = task.outputs * task.parts;
  for (std::int64_t job = blockIdx.x; job < jobs; job += gridDim.x) {
    const std::int64_t output = job / task.parts;
    const std::int64_t part = job - output * task.parts;
    const Total mine =
        share_of_sum<T, is_side_by_side>(task, output, part * sum_block_threads + threadIdx.x, task.parts * sum_block_threads);
    const Total total = Reduce(storage).Sum(mine);
    if (threadIdx.x == 0) store_sum<T>(task, output, part, total);
    __syncthreads();  // the storage is used again
  }
}

template <class T, bool is_one_axis>
__global__ void __launch_bounds__(sum_block_threads, 2) sum_by_column(const __grid_constant__ SumTask task) {
  using Total = typename Summing<T>::Total;
  __shared__ Total totals[sum_block_threads];
  const auto thread = static_cast<int>(threadIdx.x);
  const int x = thread & (task.lanes - 1);
  const int y = thread / task.lanes;
  const int height = sum_block_threads / task.lanes;
  const std::int64_t jobs = (task.outputs + task.lanes - 1) / task.lanes * task.parts;
  for (std::int64_t job = blockIdx.x; job < jobs; job += gridDim.x) {
    const std::int64_t tile = job / task.parts;
    const std::int64_t part = job - tile * task.parts;
    const std::int64_t output = tile * task.lanes + x;
    Total total = 0;
    if (output < task.outputs) {
      const T* first = static_cast<const T*>(task.data) + offset_of(task.kept, output);
      const std::int64_t row = part * height + y;
      const std::int64_t rows = task.parts * height;
      if constexpr (is_one_axis) {
        total = strided_sum<Total, 8>(SteppedElements<T>{first, task.summed.stride[0]}, row, task.length, rows);
      } else {
        total = strided_sum<Total, 4>(ScatteredElements<T>{first, task.summed}, row, task.length, rows);
      }
    }
    totals[thread] = total;
    for (int half = height / 2; half > 0; half /= 2) {
      __syncthreads();
      if (y < half) totals[thread] += totals[thread + half * task.lanes];
    }
    if (y == 0 && output < task.outputs) store_sum<T>(task, output, part, totals[thread]);
    __syncthreads();  // the room is used again
  }
}

template <class T>
struct Partials {
  using Part = T;
  using Loaded = T;
  const T* first;
  std::int64_t step;
  __device__ __forceinline__ T load(std::int64_t i) const { return first[i * step]; }
  __device__ __forceinline__ T part(T loaded) const { return loaded; }
};

// Few partial sums per output.
template <class T>
__global__ void __launch_bounds__(sum_group_threads) finish_by_thread(const __grid_constant__ SumTask task) {
  using Total = typename Summing<T>::Total;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * sum_group_threads;
  for (std::int64_t output = static_cast<std::int64_t>(blockIdx.x) * sum_group_threads + threadIdx.x; output < task.outputs;
       output += step) {
    const Partials<Total> partials{static_cast<const Total*>(task.partials) + output * task.output_step, task.partial_step};
    const Total total = strided_sum<Total, 4>(partials, 0, task.parts, 1);
    static_cast<typename Summing<T>::Out*>(task.out)[output] = Summing<T>::finish(total);
  }
}

template <class T>
__global__ void __launch_bounds__(sum_group_threads) finish_by_block(const __grid_constant__ SumTask task) {
  using Total = typename Summing<T>::Total;
  using Reduce = cub::BlockReduce<Total, sum_group_threads>;
  __shared__ typename Reduce::TempStorage storage;
  for (std::int64_t output = blockIdx.x; output < task.outputs; output += gridDim.x) {
    const Partials<Total> partials{static_cast<const Total*>(task.partials) + output * task.output_step, task.partial_step};
    const Total total = Reduce(storage).Sum(strided_sum<Total, 4>(partials, threadIdx.x, task.parts, sum_group_threads));
    if (threadIdx.x == 0) static_cast<typename Summing<T>::Out*>(task.out)[output] = Summing<T>::finish(total);
    __syncthreads();
  }
}

// The kernels go round as often as needed.
inline unsigned sum_blocks(std::int64_t wanted) { return static_cast<unsigned>(std::min<std::int64_t>(wanted, 1 << 30)); }

// Finisher: a type with the same Total and Out, for which the last step is compiled once.
template <class T, class Finisher>
void run_sum(const SumPlan& plan, Queue& queue, const KernelCall& call) {
  const SumTask& task = plan.task;
  const auto groups = [&task](int per_block) { return sum_blocks((task.outputs + per_block - 1) / per_block); };
  switch (plan.mapping) {
    case SumMapping::by_group: {
      const Grid grid{groups(sum_group_threads / task.lanes), sum_group_threads};
      if (plan.is_side_by_side) {
        launch<sum_by_group<T, true>>(queue, call, grid, task);
      } else {
        launch<sum_by_group<T, false>>(queue, call, grid, task);
      }
      break;
    }
    case SumMapping::by_block: {
      const Grid grid{sum_blocks(task.outputs * task.parts), sum_block_threads};
      if (plan.is_side_by_side) {
        launch<sum_by_block<T, true>>(queue, call, grid, task);
      } else {
        launch<sum_by_block<T, false>>(queue, call, grid, task);
      }
      break;
    }
    case SumMapping::by_column: {
      const Grid grid{sum_blocks((task.outputs + task.lanes - 1) / task.lanes * task.parts), sum_block_threads};
      if (task.summed.rank == 1) {
        launch<sum_by_column<T, true>>(queue, call, grid, task);
      } else {
        launch<sum_by_column<T, false>>(queue, call, grid, task);
      }
      break;
    }
  }
  if (task.partials == nullptr) return;
  if (task.parts >= 64) {
    launch<finish_by_block<Finisher>>(queue, call, {sum_blocks(task.outputs), sum_group_threads}, task);
  } else {
    launch<finish_by_thread<Finisher>>(queue, call, {groups(sum_group_threads), sum_group_threads}, task);
  }
}

// One for the floats, one for the rest; each in a file of its own.
void sum_floats(const SumPlan& plan, DType dtype, Queue& queue, const KernelCall& call);
void sum_integers(const SumPlan& plan, DType dtype, Queue& queue, const KernelCall& call);

}  // namespace tutti::kernels::cuda
