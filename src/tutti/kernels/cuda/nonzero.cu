#include <algorithm>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <limits>

#include "tutti/base/error.h"
#include "tutti/exec/index_message.h"
#include "tutti/kernels/cuda/accumulate.cuh"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/launch.h"
#include "tutti/kernels/cuda/row_axes.cuh"
#include "tutti/kernels/cuda/trap.cuh"

// The input is cut into ranges, one per block. One pass counts each range, the next adds the counts up (CountNonzero) or
// finds from them where the rows of each range begin (NonZero).
namespace tutti::kernels::cuda {

namespace {

using tutti::cuda::Trap;

constexpr int threads = 256;
constexpr int per_thread = 8;
constexpr std::int64_t tile = threads * per_thread;
constexpr std::int64_t least_range = 4 * tile;
constexpr std::int64_t most_ranges = 1024;

struct Ranges {
  std::int64_t length;
  std::int64_t count;
};
Ranges ranges_of(std::int64_t elements) {
  const std::int64_t even = (elements + most_ranges - 1) / most_ranges;
  const std::int64_t length = std::max(least_range, (even + tile - 1) / tile * tile);
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

// The sign bit of a float is no value: -0 is zero, and every NaN has other bits set.
unsigned long long value_bits(DType dtype) {
  const unsigned long long all = std::numeric_limits<unsigned long long>::max() >> (64 - 8 * size_of(dtype));
  return is_floating(dtype) ? all >> 1U : all;
}

TruthTask truth_task(const Operand& in, const Ranges& ranges) {
  TruthTask task{in.data, value_bits(in.dtype), in.count(), ranges.length, false, row_axes(in, 0, in.rank)};
  task.is_dense = task.axes.is_dense();
  return task;
}

template <class U>
struct Truth {
  using Part = int;
  U bits;
  __device__ __forceinline__ int operator()(U x) const { return (x & bits) != 0 ? 1 : 0; }
};

template <class U>
struct ScatteredTruth {
  using Part = int;
  using Loaded = U;
  const U* data;
  const RowAxes& axes;
  std::int64_t first;
  Truth<U> truth;
  __device__ __forceinline__ U load(std::int64_t i) const { return data[offset_of(axes, first + i)]; }
  __device__ __forceinline__ int part(U loaded) const { return truth(loaded); }
};

__device__ __forceinline__ std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

template <class U>
__global__ void __launch_bounds__(threads) count_ranges(const __grid_constant__ TruthTask task, unsigned long long* counts) {
  using Count = unsigned long long;
  using Reduce = cub::BlockReduce<Count, threads>;
  __shared__ typename Reduce::TempStorage storage;
  const std::int64_t begin = blockIdx.x * task.range;
  const std::int64_t n = smaller(task.range, task.elements - begin);
  const Truth<U> truth{static_cast<U>(task.bits)};
  const U* data = static_cast<const U*>(task.data);
  const Count mine = task.is_dense
                         ? contiguous_sum<Count>(data + begin, n, threadIdx.x, threads, truth)
                         : strided_sum<Count, 4>(ScatteredTruth<U>{data, task.axes, begin, truth}, threadIdx.x, n, threads);
  const Count total = Reduce(storage).Sum(mine);
  if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

// The sum of counts[0] ... counts[n - 1], for every thread of the block.
__device__ __forceinline__ unsigned long long sum_of_counts(const unsigned long long* counts, int n) {
  using Reduce = cub::BlockReduce<unsigned long long, threads>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ unsigned long long result;
  unsigned long long mine = 0;
  for (int i = static_cast<int>(threadIdx.x); i < n; i += threads) mine += counts[i];
  const unsigned long long total = Reduce(storage).Sum(mine);
  if (threadIdx.x == 0) result = total;
  __syncthreads();
  return result;
}

__global__ void __launch_bounds__(threads) add_counts(const unsigned long long* counts, int n, unsigned long long* total) {
  const unsigned long long found = sum_of_counts(counts, n);
  if (threadIdx.x == 0) *total = found;
}

struct RowsTask {
  long long* rows;
  std::int64_t room;  // rows
  const unsigned long long* counts;
  Trap* trap;
  int rank;
  std::int64_t size[most_axes];
};

// A thread takes neighbouring elements, so that rows come out in order.
template <class U>
__global__ void __launch_bounds__(threads)
    write_rows(const __grid_constant__ TruthTask task, const __grid_constant__ RowsTask to) {
  using Scan = cub::BlockScan<int, threads>;
  __shared__ typename Scan::TempStorage storage;
  const Truth<U> truth{static_cast<U>(task.bits)};
  const U* data = static_cast<const U*>(task.data);
  const std::int64_t begin = blockIdx.x * task.range;
  const std::int64_t end = smaller(begin + task.range, task.elements);
  auto base = static_cast<std::int64_t>(sum_of_counts(to.counts, static_cast<int>(blockIdx.x)));
  for (std::int64_t at = begin; at < end; at += tile) {
    const std::int64_t first = at + threadIdx.x * per_thread;
    unsigned found = 0;
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      const std::int64_t element = first + i;
      if (element >= end) continue;
      const U value = data[task.is_dense ? element : offset_of(task.axes, element)];
      found |= static_cast<unsigned>(truth(value)) << i;
    }
    int before = 0;
    int all = 0;
    Scan(storage).ExclusiveSum(__popc(found), before, all);
    std::int64_t row = base + before;
    for (; found != 0; found &= found - 1, ++row) {
      if (row >= to.room) break;
      std::int64_t rest = first + __ffs(static_cast<int>(found)) - 1;
      for (int axis = to.rank - 1; axis >= 0; --axis) {
        const std::int64_t above = rest / to.size[axis];
        to.rows[row * to.rank + axis] = rest - above * to.size[axis];
        rest = above;
      }
    }
    base += all;
    __syncthreads();  // the storage is used again
  }
  if (blockIdx.x + 1 == gridDim.x && threadIdx.x == 0 && base != to.room) note(to.trap, 1, to.room, base);
}

template <class Visit>
void visit_width(DType dtype, Visit&& visit) {
  switch (size_of(dtype)) {
    case 1: return visit(std::uint8_t{});
    case 2: return visit(std::uint16_t{});
    case 4: return visit(std::uint32_t{});
    default: return visit(std::uint64_t{});
  }
}

std::int64_t counts_bytes(const Inference& in) {
  const std::int64_t ranges = ranges_of(element_count(in.shape(0)).value_or(0)).count;
  return ranges > 1 ? ranges * 8 : 0;
}

template <class U>
void launch_count(const Operand& in, const Ranges& ranges, unsigned long long* counts, Queue& queue, const KernelCall& call) {
  launch<count_ranges<U>>(queue, call, {static_cast<unsigned>(ranges.count), threads}, truth_task(in, ranges), counts);
}

std::string describe_change(const Trap& trap) { return changed_since_counted(trap.first, trap.second); }

}  // namespace

static std::int64_t count_nonzero_workspace(const OpCall& /*call*/, const Inference& in) { return counts_bytes(in); }
static std::int64_t nonzero_workspace(const OpCall& /*call*/, const Inference& in) { return counts_bytes(in); }

static void count_nonzero(const KernelCall& call, KernelContext& context) {
  const Operand& in = device_input(call, 0);
  Queue& queue = queue_of(context);
  auto* const out = call.out().as<unsigned long long>();
  const Ranges ranges = ranges_of(in.count());
  if (ranges.count == 0) return check(cudaMemsetAsync(out, 0, 8, queue.stream()), "filling with zeros", call);
  unsigned long long* const counts = ranges.count == 1 ? out : call.scratch().as<unsigned long long>();
  visit_width(in.dtype, [&](auto width) { launch_count<decltype(width)>(in, ranges, counts, queue, call); });
  if (ranges.count > 1) launch<add_counts>(queue, call, {1, threads}, counts, ranges.count, out);
}

static void nonzero(const KernelCall& call, KernelContext& context) {
  const Operand& in = device_input(call, 0);
  const Operand& out = call.out();
  Queue& queue = queue_of(context);
  const std::int64_t room = out.axes[0].size;
  const Ranges ranges = ranges_of(in.count());
  if (ranges.count == 0) {
    if (room != 0) throw KernelFailed(changed_since_counted(room, 0), call.site);
    return;
  }
  RowsTask to{};
  to.rows = out.as<long long>();
  to.room = room;
  to.rank = in.rank;
  for (std::size_t i = 0; i < in.rank; ++i) to.size[i] = in.axes[i].size;
  to.trap = queue.arm_trap(describe_change);
  auto* const counts = ranges.count == 1 ? nullptr : call.scratch().as<unsigned long long>();  // one range starts at row 0
  to.counts = counts;
  visit_width(in.dtype, [&](auto width) {
    using U = decltype(width);
    if (counts != nullptr) launch_count<U>(in, ranges, counts, queue, call);
    launch<write_rows<U>>(queue, call, {static_cast<unsigned>(ranges.count), threads}, truth_task(in, ranges), to);
  });
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("CountNonzero", count_nonzero, count_nonzero_workspace) &&
    register_cuda_kernel("NonZero", nonzero, nonzero_workspace);

}  // namespace tutti::kernels::cuda
