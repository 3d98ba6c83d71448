// The best k of long lines without sorting them: the key of the k-th is found digit by digit, from the highest, by counting;
// then what is below it is collected in order, and of what is equal to it the first; only those are sorted.
#include <algorithm>
#include <bit>
#include <cub/block/block_radix_sort.cuh>

#include "tutti/base/error.h"
#include "tutti/exec/sort_key.h"
#include "tutti/kernels/cuda/block_sums.cuh"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/topk.h"

namespace tutti::kernels::cuda {

namespace {

constexpr int threads = 256;
constexpr int digits = 256;
constexpr int per_thread = 8;
constexpr std::int64_t tile = threads * per_thread;
constexpr std::int64_t least_range = 4 * tile;

// A line is cut into ranges, a block each.
std::int64_t ranges_per_line(std::int64_t lines, std::int64_t length, int multiprocessors) {
  const std::int64_t wanted = (std::int64_t{8} * multiprocessors + lines - 1) / lines;
  return std::clamp<std::int64_t>(wanted, 1, (length + least_range - 1) / least_range);
}
constexpr int most_multiprocessors = 256;  // for the size of the working memory

template <class U>
struct SelectTask {
  const U* x;
  U* values;
  std::int64_t* indices;
  std::int64_t lines;
  std::int64_t length;
  std::int64_t keep;
  std::int64_t ranges;
  std::int64_t range;  // elements, whole tiles
  SortOrder<U> order;
  std::uint64_t* key;           // per line: the digits of the k-th key found so far
  std::int64_t* left;           // per line: how many of those with these digits are among the best
  unsigned* counts;             // per line and digit
  std::uint32_t* range_counts;  // per range: keys below the k-th, keys equal to it
  std::uint32_t* candidates;    // per line: `keep` numbers of elements
};

struct Part {
  std::int64_t line;
  std::int64_t begin;
  std::int64_t end;
};
template <class U>
__device__ __forceinline__ Part part_of_block(const SelectTask<U>& task) {
  const std::int64_t line = blockIdx.x / task.ranges;
  const std::int64_t begin = (blockIdx.x - line * task.ranges) * task.range;
  const std::int64_t end = begin + task.range;
  return {line, begin, end < task.length ? end : task.length};
}

template <class U>
__global__ void __launch_bounds__(threads) count_digits(const __grid_constant__ SelectTask<U> task, int shift) {
  __shared__ unsigned counts[digits];
  counts[threadIdx.x] = 0;
  __syncthreads();
  const Part part = part_of_block(task);
  const U* const from = task.x + part.line * task.length;
  const bool is_first = shift + 8 == 8 * static_cast<int>(sizeof(U));
  const std::uint64_t chosen = is_first ? 0 : task.key[part.line] >> (shift + 8);
#pragma unroll 4
  for (std::int64_t i = part.begin + threadIdx.x; i < part.end; i += threads) {
    const std::uint64_t key = task.order.key(from[i]);
    if (is_first || key >> (shift + 8) == chosen) atomicAdd(&counts[key >> shift & (digits - 1)], 1U);
  }
  __syncthreads();
  const unsigned found = counts[threadIdx.x];
  if (found != 0) atomicAdd(&task.counts[part.line * digits + threadIdx.x], found);
}

// A block per line, a thread per digit. Leaves the counts at 0.
template <class U>
__global__ void __launch_bounds__(threads) choose_digit(const __grid_constant__ SelectTask<U> task, int shift) {
  const std::int64_t line = blockIdx.x;
  const bool is_first = shift + 8 == 8 * static_cast<int>(sizeof(U));
  const std::int64_t left = is_first ? task.keep : task.left[line];
  const std::uint64_t key = is_first ? 0 : task.key[line];
  const std::int64_t mine = task.counts[line * digits + threadIdx.x];
  const std::int64_t before = block_sums<threads>(mine).before;  // all have then read what one of them writes now
  task.counts[line * digits + threadIdx.x] = 0;
  if (before < left && left <= before + mine) {
    task.key[line] = key | static_cast<std::uint64_t>(threadIdx.x) << shift;
    task.left[line] = left - before;
  }
}

template <class U>
__global__ void __launch_bounds__(threads) count_candidates(const __grid_constant__ SelectTask<U> task) {
  const Part part = part_of_block(task);
  const U* const from = task.x + part.line * task.length;
  const auto last = static_cast<U>(task.key[part.line]);
  std::uint32_t below = 0;
  std::uint32_t equal = 0;
#pragma unroll 4
  for (std::int64_t i = part.begin + threadIdx.x; i < part.end; i += threads) {
    const U key = task.order.key(from[i]);
    below += key < last ? 1U : 0U;
    equal += key == last ? 1U : 0U;
  }
  const std::uint32_t all_below = block_sums<threads>(below).all;
  const std::uint32_t all_equal = block_sums<threads>(equal).all;
  if (threadIdx.x != 0) return;
  task.range_counts[2 * static_cast<std::int64_t>(blockIdx.x)] = all_below;
  task.range_counts[2 * static_cast<std::int64_t>(blockIdx.x) + 1] = all_equal;
}

// The counts of the line's ranges before this block's, for every thread.
struct Earlier {
  std::int64_t below;
  std::int64_t equal;
};
template <class U>
__device__ __forceinline__ Earlier count_earlier(const SelectTask<U>& task, std::int64_t line) {
  std::int64_t below = 0;
  std::int64_t equal = 0;
  for (std::int64_t i = line * task.ranges + threadIdx.x; i < blockIdx.x; i += threads) {
    below += task.range_counts[2 * i];
    equal += task.range_counts[2 * i + 1];
  }
  return {block_sums<threads>(below).all, block_sums<threads>(equal).all};
}

// A thread takes neighbouring elements, so that candidates come out in order: those below the last key, then its equals.
template <class U>
__global__ void __launch_bounds__(threads) collect_candidates(const __grid_constant__ SelectTask<U> task) {
  const Part part = part_of_block(task);
  const U* const from = task.x + part.line * task.length;
  const auto last = static_cast<U>(task.key[part.line]);
  std::uint32_t* const to = task.candidates + part.line * task.keep;
  Earlier earlier = count_earlier(task, part.line);
  const std::int64_t first_equal = task.keep - task.left[part.line];
  for (std::int64_t at = part.begin; at < part.end; at += tile) {
    const std::int64_t first = at + threadIdx.x * per_thread;
    unsigned below = 0;
    unsigned equal = 0;
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      if (first + i >= part.end) continue;
      const U key = task.order.key(from[first + i]);
      below |= (key < last ? 1U : 0U) << i;
      equal |= (key == last ? 1U : 0U) << i;
    }
    // Both counts in one number: a tile has far fewer than 2^16 elements.
    const auto [before, all] =
        block_sums<threads>(static_cast<unsigned>(__popc(below)) << 16U | static_cast<unsigned>(__popc(equal)));
    std::int64_t place = earlier.below + (before >> 16U);
    for (; below != 0; below &= below - 1) to[place++] = static_cast<std::uint32_t>(first + __ffs(static_cast<int>(below)) - 1);
    place = first_equal + earlier.equal + (before & 0xffffU);
    for (; equal != 0 && place < task.keep; equal &= equal - 1)
      to[place++] = static_cast<std::uint32_t>(first + __ffs(static_cast<int>(equal)) - 1);
    earlier.below += all >> 16U;
    earlier.equal += all & 0xffffU;
  }
}

// A block per line.
template <class U, int block, int items>
__global__ void __launch_bounds__(block) sort_candidates(const __grid_constant__ SelectTask<U> task) {
  using Sort = cub::BlockRadixSort<U, block, items, std::uint32_t>;
  __shared__ typename Sort::TempStorage storage;
  const std::int64_t line = blockIdx.x;
  const U* const from = task.x + line * task.length;
  const std::uint32_t* const candidates = task.candidates + line * task.keep;
  U keys[items];
  std::uint32_t numbers[items];
#pragma unroll
  for (int i = 0; i < items; ++i) {
    const int place = static_cast<int>(threadIdx.x) * items + i;
    const bool is_one = place < task.keep;
    numbers[i] = is_one ? candidates[place] : 0;
    keys[i] = is_one ? task.order.key(from[numbers[i]]) : static_cast<U>(~U{0});
  }
  Sort(storage).SortBlockedToStriped(keys, numbers);
#pragma unroll
  for (int i = 0; i < items; ++i) {
    const int place = i * block + static_cast<int>(threadIdx.x);
    if (place >= task.keep) break;
    task.values[line * task.keep + place] = from[numbers[i]];
    task.indices[line * task.keep + place] = numbers[i];
  }
}

// Where each part of the working memory lies.
struct Room {
  std::int64_t key;
  std::int64_t left;
  std::int64_t counts;
  std::int64_t range_counts;
  std::int64_t candidates;
  std::int64_t bytes;

  Room(const SortPlan& plan, std::int64_t ranges)
      : key(0),
        left(key + SortPlan::align(plan.lines * 8)),
        counts(left + SortPlan::align(plan.lines * 8)),
        range_counts(counts + SortPlan::align(plan.lines * digits * 4)),
        candidates(range_counts + SortPlan::align(plan.lines * ranges * 8)),
        bytes(candidates + SortPlan::align(plan.lines * plan.attributes.keep * 4)) {}
};

template <class U>
void select(const SortPlan& plan, const KernelCall& call, Queue& queue) {
  const Operand& x = device_input(call, 0);
  SelectTask<U> task{};
  task.x = x.as<U>();
  task.values = call.out(0).as<U>();
  task.indices = call.out(1).as<std::int64_t>();
  task.lines = plan.lines;
  task.length = plan.length;
  task.keep = plan.attributes.keep;
  task.order = SortOrder<U>(x.dtype, plan.attributes.is_descending, Zeros::equal);
  const std::int64_t wanted =
      ranges_per_line(plan.lines, plan.length, std::min(queue.properties().multiprocessors, most_multiprocessors));
  task.range = ((plan.length + wanted - 1) / wanted + tile - 1) / tile * tile;
  task.ranges = (plan.length + task.range - 1) / task.range;
  const Room room(plan, wanted);
  std::byte* const scratch = call.scratch().data;
  task.key = reinterpret_cast<std::uint64_t*>(scratch + room.key);
  task.left = reinterpret_cast<std::int64_t*>(scratch + room.left);
  task.counts = reinterpret_cast<unsigned*>(scratch + room.counts);
  task.range_counts = reinterpret_cast<std::uint32_t*>(scratch + room.range_counts);
  task.candidates = reinterpret_cast<std::uint32_t*>(scratch + room.candidates);
  const Grid by_range{dim3(static_cast<unsigned>(plan.lines * task.ranges)), dim3(threads)};
  const Grid by_line{dim3(static_cast<unsigned>(plan.lines)), dim3(threads)};
  check(cudaMemsetAsync(task.counts, 0, static_cast<std::size_t>(plan.lines) * digits * 4, queue.stream()), "filling with zeros",
        call);
  for (int shift = 8 * static_cast<int>(sizeof(U)) - 8; shift >= 0; shift -= 8) {
    launch<count_digits<U>>(queue, call, by_range, task, shift);
    launch<choose_digit<U>>(queue, call, by_line, task, shift);
  }
  launch<count_candidates<U>>(queue, call, by_range, task);
  launch<collect_candidates<U>>(queue, call, by_range, task);
  if constexpr (sizeof(U) >= 4) {
    if (task.keep <= 256) return launch<sort_candidates<U, 64, 4>>(queue, call, {by_line.blocks, dim3(64)}, task);
  }
  launch<sort_candidates<U, 256, 8>>(queue, call, {by_line.blocks, dim3(256)}, task);
}

}  // namespace

bool selects(const SortPlan& plan) {
  return plan.is_long() && plan.length <= longest_line && plan.attributes.keep <= most_selected &&
         plan.lines <= std::int64_t{1} << 24U;
}

std::int64_t select_bytes(const SortPlan& plan) {
  return Room(plan, ranges_per_line(plan.lines, plan.length, most_multiprocessors)).bytes;
}

void select_best(const SortPlan& plan, const KernelCall& call, Queue& queue) {
  visit_sort_width(call.in(0).dtype, [&](auto width) { select<decltype(width)>(plan, call, queue); });
}

}  // namespace tutti::kernels::cuda
