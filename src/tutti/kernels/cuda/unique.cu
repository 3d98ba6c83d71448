// The distinct elements among sorted ones. They are cut into ranges, one per block: one pass counts the runs of equal elements
// that begin in each, the next knows from that where those of its range go.
#include <algorithm>
#include <cstring>

#include "tutti/exec/sort_key.h"
#include "tutti/exec/sorting_attributes.h"
#include "tutti/kernels/cuda/block_sums.cuh"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/launch.h"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

constexpr int threads = 256;
constexpr int per_thread = 8;
constexpr std::int64_t tile = threads * per_thread;
constexpr std::int64_t most_ranges = 1024;

struct Ranges {
  std::int64_t length;
  std::int64_t count;
};
Ranges ranges_of(std::int64_t elements) {
  const std::int64_t even = (elements + most_ranges - 1) / most_ranges;
  const std::int64_t length = std::max(tile, (even + tile - 1) / tile * tile);
  return {length, (elements + length - 1) / length};
}

template <class U>
struct Runs {
  const U* elements;
  std::int64_t n;
  std::int64_t range;
  SortOrder<U> order;
};

__device__ __forceinline__ std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

template <class U>
__global__ void __launch_bounds__(threads) count_runs(const __grid_constant__ Runs<U> runs, std::int64_t* counts) {
  const std::int64_t begin = blockIdx.x * runs.range;
  const std::int64_t end = smaller(begin + runs.range, runs.n);
  std::int64_t mine = 0;
#pragma unroll 4
  for (std::int64_t i = begin + threadIdx.x; i < end; i += threads)
    mine += i == 0 || !runs.order.are_equal(runs.elements[i - 1], runs.elements[i]) ? 1 : 0;
  const std::int64_t total = block_sums<threads>(mine).all;
  if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

// The sum of counts[0] ... counts[n - 1], for every thread of the block.
__device__ __forceinline__ std::int64_t sum_of_counts(const std::int64_t* counts, int n) {
  std::int64_t mine = 0;
  for (int i = static_cast<int>(threadIdx.x); i < n; i += threads) mine += counts[i];
  return block_sums<threads>(mine).all;
}

__global__ void __launch_bounds__(threads) add_run_counts(const std::int64_t* counts, int n, std::int64_t* total) {
  const std::int64_t found = sum_of_counts(counts, n);
  if (threadIdx.x == 0) *total = found;
}

// Null: not wanted.
template <class U>
struct UniqueTask {
  const std::int64_t* order;
  const std::int64_t* counts_by_range;
  U* values;
  std::int64_t* indices;
  std::int64_t* inverse;
  std::int64_t* counts;
  std::int64_t* begins;  // of runs, one more than `size`
  std::int64_t* total;
  std::int64_t size;
  U fill;
};

// A thread takes neighbouring elements, so that runs come out in order.
template <class U>
__global__ void __launch_bounds__(threads)
    write_runs(const __grid_constant__ Runs<U> runs, const __grid_constant__ UniqueTask<U> to) {
  const std::int64_t begin = blockIdx.x * runs.range;
  const std::int64_t end = smaller(begin + runs.range, runs.n);
  std::int64_t base = sum_of_counts(to.counts_by_range, static_cast<int>(blockIdx.x));
  for (std::int64_t at = begin; at < end; at += tile) {
    const std::int64_t first = at + threadIdx.x * per_thread;
    U element[per_thread];
    unsigned starts = 0;
    U before = first > 0 && first < end ? runs.elements[first - 1] : U{0};
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      if (first + i >= end) continue;
      element[i] = runs.elements[first + i];
      const bool is_start = first + i == 0 || !runs.order.are_equal(before, element[i]);
      starts |= (is_start ? 1U : 0U) << i;
      before = element[i];
    }
    const BlockSums<int> sums = block_sums<threads>(__popc(starts));
    std::int64_t run = base + sums.before - 1;
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      if (first + i >= end) continue;
      if ((starts >> i & 1U) != 0) {
        ++run;
        if (run < to.size) {
          to.values[run] = element[i];
          if (to.indices != nullptr) to.indices[run] = to.order[first + i];
        }
        if (to.begins != nullptr && run <= to.size) to.begins[run] = first + i;
      }
      if (to.inverse != nullptr) to.inverse[to.order[first + i]] = run;
    }
    base += sums.all;
  }
  if (blockIdx.x + 1 == gridDim.x && threadIdx.x == 0) *to.total = base;
}

// Counts from where runs begin, and what fills the outputs up.
template <class U>
__global__ void __launch_bounds__(threads) finish_runs(const __grid_constant__ UniqueTask<U> to, std::int64_t n) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  const std::int64_t total = *to.total;
  for (std::int64_t run = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; run < to.size; run += step) {
    if (run < total) {
      if (to.counts != nullptr) to.counts[run] = (run + 1 < total ? to.begins[run + 1] : n) - to.begins[run];
      continue;
    }
    to.values[run] = to.fill;
    if (to.indices != nullptr) to.indices[run] = -1;
    if (to.counts != nullptr) to.counts[run] = 0;
  }
}

template <class U>
Runs<U> runs_of(const Operand& sorted, const Ranges& ranges) {
  return {sorted.as<U>(), sorted.axes[0].size, ranges.length, SortOrder<U>(sorted.dtype, false, Zeros::equal)};
}

template <class U>
void find_unique(const KernelCall& call, const UniqueAttributes& wanted, Queue& queue) {
  const Operand& sorted = device_input(call, 0);
  const Ranges ranges = ranges_of(sorted.axes[0].size);
  auto* const scratch = call.scratch().as<std::int64_t>();
  const Runs<U> runs = runs_of<U>(sorted, ranges);
  UniqueTask<U> to{};
  to.order = call.inputs == 2 ? device_input(call, 1).as<std::int64_t>() : nullptr;
  to.counts_by_range = scratch;
  to.values = call.out(0).as<U>();
  to.indices = wanted.wants_indices ? call.out(1).as<std::int64_t>() : nullptr;
  to.inverse = wanted.wants_inverse ? call.out(2).as<std::int64_t>() : nullptr;
  to.counts = wanted.wants_counts ? call.out(3).as<std::int64_t>() : nullptr;
  to.total = scratch + ranges.count;
  to.begins = wanted.wants_counts ? to.total + 1 : nullptr;
  to.size = wanted.size;
  std::memcpy(&to.fill, wanted.fill.data(), sizeof to.fill);
  if (ranges.count == 0) {
    check(cudaMemsetAsync(to.total, 0, 8, queue.stream()), "filling with zeros", call);
  } else {
    const Grid grid{dim3(static_cast<unsigned>(ranges.count)), dim3(threads)};
    if (ranges.count > 1) launch<count_runs<U>>(queue, call, grid, runs, scratch);  // the first range starts at run 0
    launch<write_runs<U>>(queue, call, grid, runs, to);
  }
  if (wanted.size == 0) return;
  const std::int64_t blocks = std::min<std::int64_t>((wanted.size + threads - 1) / threads, 1 << 20);
  launch<finish_runs<U>>(queue, call, {dim3(static_cast<unsigned>(blocks)), dim3(threads)}, to, runs.n);
}

}  // namespace

static std::int64_t count_bytes(const WorkspaceCall& call) { return 8 * ranges_of(call.input(0).axes[0].size).count; }

static std::int64_t unique_bytes(const WorkspaceCall& call) {
  const auto wanted = call.attributes().as<UniqueAttributes>();
  return 8 * (ranges_of(call.input(0).axes[0].size).count + 1 + (wanted.wants_counts ? wanted.size + 1 : 0));
}

static void count_unique(const KernelCall& call, KernelContext& context) {
  const Operand& sorted = device_input(call, 0);
  Queue& queue = queue_of(context);
  auto* const out = call.out().as<std::int64_t>();
  const Ranges ranges = ranges_of(sorted.axes[0].size);
  if (ranges.count == 0) return check(cudaMemsetAsync(out, 0, 8, queue.stream()), "filling with zeros", call);
  auto* const counts = ranges.count == 1 ? out : call.scratch().as<std::int64_t>();
  visit_sort_width(sorted.dtype, [&](auto width) {
    using U = decltype(width);
    launch<count_runs<U>>(queue, call, {dim3(static_cast<unsigned>(ranges.count)), dim3(threads)}, runs_of<U>(sorted, ranges),
                          counts);
  });
  if (ranges.count > 1) launch<add_run_counts>(queue, call, {dim3(1), dim3(threads)}, counts, ranges.count, out);
}

static void unique(const KernelCall& call, KernelContext& context) {
  const auto wanted = call.attributes->as<UniqueAttributes>();
  visit_sort_width(call.in(0).dtype, [&](auto width) { find_unique<decltype(width)>(call, wanted, queue_of(context)); });
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("UniqueCount", count_unique, workspace<count_bytes>) &&
                                                   register_cuda_kernel("Unique", unique, workspace<unique_bytes>);

}  // namespace tutti::kernels::cuda
