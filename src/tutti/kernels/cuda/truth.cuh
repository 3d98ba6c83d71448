// Elements of any dtype and strides as true or false. The input is cut into ranges, one per block: one pass counts each range,
// and from the counts a later one finds where the results of each range begin.
#pragma once

#include <algorithm>
#include <limits>

#include "tutti/exec/index_message.h"
#include "tutti/exec/indexing_attributes.h"
#include "tutti/kernels/cuda/block_sums.cuh"
#include "tutti/kernels/cuda/count.cuh"
#include "tutti/kernels/cuda/launch.h"
#include "tutti/kernels/cuda/trap.cuh"

namespace tutti::kernels::cuda {

inline constexpr int truth_threads = 256;
inline constexpr int truths_per_thread = 8;
inline constexpr std::int64_t truth_tile = truth_threads * truths_per_thread;
inline constexpr std::int64_t most_ranges = 1024;

struct Ranges {
  std::int64_t length;
  std::int64_t count;
};
inline Ranges ranges_of(std::int64_t elements) {
  const std::int64_t even = (elements + most_ranges - 1) / most_ranges;
  const std::int64_t length = std::max(truth_tile, (even + truth_tile - 1) / truth_tile * truth_tile);
  return {length, (elements + length - 1) / length};
}

struct TruthTask {
  const void* data;
  unsigned long long bits;  // of an element; none of them set: it is zero
  std::int64_t elements;
  std::int64_t range;
  bool is_dense;
  RowAxes axes;
};

inline TruthTask truth_task(const Operand& in, const Ranges& ranges) {
  TruthTask task{in.data, value_bits(in.dtype), in.count(), ranges.length, false, row_axes(in, 0, in.rank)};
  task.is_dense = task.axes.is_dense();
  return task;
}

template <class U>
struct Truth {
  U bits;
  __device__ __forceinline__ int operator()(U x) const { return (x & bits) != 0 ? 1 : 0; }
};

__device__ __forceinline__ std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

template <class U>
__global__ void __launch_bounds__(truth_threads)
    count_ranges(const __grid_constant__ TruthTask task, unsigned long long* counts) {
  const std::int64_t begin = blockIdx.x * task.range;
  const std::int64_t end = smaller(begin + task.range, task.elements);
  const Count<U> count{static_cast<U>(task.bits)};
  const U* data = static_cast<const U*>(task.data);
  const unsigned long long mine =
      task.is_dense ? contiguous_share(count, data + begin, end - begin, threadIdx.x, truth_threads)
                    : strided_share<4>(count, ScatteredElements<U>{data, task.axes}, begin + threadIdx.x, end, truth_threads);
  const unsigned long long total = block_sums<truth_threads>(mine).all;
  if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

// The sum of counts[0] ... counts[n - 1], for every thread of the block.
__device__ __forceinline__ unsigned long long sum_of_counts(const unsigned long long* counts, int n) {
  unsigned long long mine = 0;
  for (int i = static_cast<int>(threadIdx.x); i < n; i += truth_threads) mine += counts[i];
  return block_sums<truth_threads>(mine).all;
}

// Where the true elements of the tile at `first` are, in order and counted from there. Returns how many; `picked` holds until the
// next call.
template <class U>
__device__ __forceinline__ int pick_tile(const TruthTask& task, std::int64_t first, std::int64_t end,
                                         std::uint16_t (&picked)[truth_tile]) {
  constexpr int warps = truth_threads / 32;
  constexpr int groups = truths_per_thread * warps;  // of neighbours that a warp loads at once
  static_assert(groups == 64);
  __shared__ int before[groups + 1];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const Truth<U> truth{static_cast<U>(task.bits)};
  const U* data = static_cast<const U*>(task.data);
  U loaded[truths_per_thread];
#pragma unroll
  for (int i = 0; i < truths_per_thread; ++i) {
    const std::int64_t element = first + i * truth_threads + threadIdx.x;
    loaded[i] = 0;
    if (element < end) loaded[i] = data[task.is_dense ? element : offset_of(task.axes, element)];
  }
  unsigned found[truths_per_thread];
#pragma unroll
  for (int i = 0; i < truths_per_thread; ++i) {
    found[i] = __ballot_sync(~0U, truth(loaded[i]));
    if (lane == 0) before[i * warps + warp] = __popc(found[i]);
  }
  __syncthreads();
  if (warp == 0) {  // two groups to a lane
    const int one = before[2 * lane];
    const int both = one + before[2 * lane + 1];
    int sum = both;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const int below = __shfl_up_sync(~0U, sum, distance);
      if (lane >= distance) sum += below;
    }
    before[2 * lane] = sum - both;
    before[2 * lane + 1] = sum - both + one;
    if (lane == 31) before[groups] = sum;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < truths_per_thread; ++i) {
    if ((found[i] >> lane & 1U) == 0) continue;
    picked[before[i * warps + warp] + __popc(found[i] & ((1U << lane) - 1))] =
        static_cast<std::uint16_t>(i * truth_threads + threadIdx.x);
  }
  const int all = before[groups];
  __syncthreads();
  return all;
}

template <class U>
void launch_count(const Operand& in, const Ranges& ranges, unsigned long long* counts, Queue& queue, const KernelCall& call) {
  launch<count_ranges<U>>(queue, call, {static_cast<unsigned>(ranges.count), truth_threads}, truth_task(in, ranges), counts);
}

// How room that must be filled exactly is judged: the trap's code says which message fits. Null where it need not be.
inline std::string describe_room(const tutti::cuda::Trap& trap) {
  return trap.code == static_cast<unsigned>(Room::given) + 1 ? mask_does_not_match(trap.first, trap.second)
                                                             : changed_since_counted(trap.first, trap.second);
}

struct RoomTask {
  std::int64_t size;  // rows
  tutti::cuda::Trap* trap;
  unsigned code;
};
inline RoomTask room_task(std::int64_t size, Room room, Queue& queue) {
  return {size, room == Room::padded ? nullptr : queue.arm_trap(describe_room), static_cast<unsigned>(room) + 1};
}
// How many of `all` further rows find room after `before`.
__device__ __forceinline__ int fitting(const RoomTask& room, std::int64_t before, int all) {
  return before >= room.size ? 0 : static_cast<int>(smaller(all, room.size - before));
}
// By one thread, which knows how many were found.
__device__ __forceinline__ void judge_room(const RoomTask& room, std::int64_t found) {
  if (room.trap != nullptr && found != room.size) note(room.trap, room.code, room.size, found);
}

}  // namespace tutti::kernels::cuda
