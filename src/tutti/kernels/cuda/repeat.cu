#include "tutti/base/error.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/truth.cuh"
#include "tutti/tensor/dtype_visit.h"

// One pass adds up the repeats of each range, the next writes where those of each element end, the last finds for each element of
// the output the one that it repeats.
namespace tutti::kernels::cuda {

namespace {

enum : unsigned { is_negative = 1, does_not_match = 2 };

struct RepeatTask {
  const void* repeats;
  std::int64_t elements;
  std::int64_t stride;
  std::int64_t range;
  bool is_wide;
  unsigned long long* sums;  // by range
  unsigned long long* ends;  // by element
  tutti::cuda::Trap* trap;
};

__device__ __forceinline__ std::int64_t repeat_at(const RepeatTask& task, std::int64_t i) {
  return task.is_wide ? static_cast<const std::int64_t*>(task.repeats)[i * task.stride]
                      : static_cast<const std::int32_t*>(task.repeats)[i * task.stride];
}

__global__ void __launch_bounds__(truth_threads) add_ranges(const __grid_constant__ RepeatTask task) {
  const std::int64_t begin = blockIdx.x * task.range;
  const std::int64_t end = smaller(begin + task.range, task.elements);
  unsigned long long mine = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += truth_threads) {
    const std::int64_t repeat = repeat_at(task, i);
    if (repeat < 0) {
      note(task.trap, is_negative, repeat, 0);
    } else {
      mine += static_cast<unsigned long long>(repeat);
    }
  }
  const unsigned long long total = block_sums<truth_threads>(mine).all;
  if (threadIdx.x == 0) task.sums[blockIdx.x] = total;
}

__global__ void __launch_bounds__(truth_threads) write_ends(const __grid_constant__ RepeatTask task) {
  const std::int64_t begin = blockIdx.x * task.range;
  const std::int64_t end = smaller(begin + task.range, task.elements);
  unsigned long long base = sum_of_counts(task.sums, static_cast<int>(blockIdx.x));
  for (std::int64_t at = begin; at < end; at += truth_threads) {
    const std::int64_t i = at + threadIdx.x;
    const std::int64_t repeat = i < end ? repeat_at(task, i) : 0;
    const auto times = static_cast<unsigned long long>(repeat < 0 ? 0 : repeat);
    const auto sums = block_sums<truth_threads>(times);
    if (i < end) task.ends[i] = base + sums.before + times;
    base += sums.all;
  }
}

__global__ void __launch_bounds__(truth_threads)
    find_sources(const __grid_constant__ RepeatTask task, long long* out, std::int64_t size, long long* count) {
  const auto total = static_cast<std::int64_t>(task.ends[task.elements - 1]);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    if (count != nullptr) {
      *count = total;
    } else if (total != size) {
      note(task.trap, does_not_match, size, total);
    }
  }
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * truth_threads;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(truth_threads) + threadIdx.x; i < size; i += step) {
    std::int64_t low = 0;  // the first element that ends after i; the last one for those past the end
    std::int64_t high = task.elements - 1;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (task.ends[middle] > static_cast<unsigned long long>(i)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    out[i] = low;
  }
}

std::string describe_repeats(const tutti::cuda::Trap& trap) {
  return trap.code == is_negative ? negative_repeat(trap.first) : repeats_do_not_match(trap.first, trap.second);
}

}  // namespace

static std::int64_t repeat_bytes(const WorkspaceCall& call) {
  const std::int64_t elements = call.input(0).axes[0].size;
  return (ranges_of(elements).count + elements) * 8;
}

static void repeat_indices(const KernelCall& call, KernelContext& context) {
  const Operand& in = device_input(call, 0);
  const Operand& out = call.out();
  const std::int64_t size = out.axes[0].size;
  Queue& queue = queue_of(context);
  const Ranges ranges = ranges_of(in.count());
  if (ranges.count == 0) {
    if (size == 0) return;
    throw KernelFailed(repeats_do_not_match(size, 0), call.site);
  }
  auto* const sums = call.scratch().as<unsigned long long>();
  const RepeatTask task{in.data,
                        in.count(),
                        in.axes[0].stride,
                        ranges.length,
                        is_wide_index(in.dtype),
                        sums,
                        sums + ranges.count,
                        queue.arm_trap(describe_repeats)};
  const Grid by_range{static_cast<unsigned>(ranges.count), truth_threads};
  launch<add_ranges>(queue, call, by_range, task);
  launch<write_ends>(queue, call, by_range, task);
  const std::int64_t blocks = std::clamp<std::int64_t>((size + truth_threads - 1) / truth_threads, 1,
                                                       std::int64_t{64} * queue.properties().multiprocessors);
  launch<find_sources>(queue, call, {static_cast<unsigned>(blocks), truth_threads}, task, out.as<long long>(), size,
                       call.outputs > 1 ? call.out(1).as<long long>() : nullptr);
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("RepeatIndices", repeat_indices, workspace<repeat_bytes>);

}  // namespace tutti::kernels::cuda
