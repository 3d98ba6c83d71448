#include <cstring>

#include "tutti/base/error.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/truth.cuh"

namespace tutti::kernels::cuda {

namespace {

struct SelectTask {
  const void* x;
  void* out;
  RoomTask room;
  const unsigned long long* counts;
  bool is_dense;
  RowAxes axes;  // of x
};

template <class U>
__global__ void __launch_bounds__(truth_threads)
    write_selected(const __grid_constant__ TruthTask mask, const __grid_constant__ SelectTask task) {
  __shared__ std::uint16_t picked[truth_tile];
  const U* __restrict__ x = static_cast<const U*>(task.x);
  U* __restrict__ out = static_cast<U*>(task.out);
  const std::int64_t begin = blockIdx.x * mask.range;
  const std::int64_t end = smaller(begin + mask.range, mask.elements);
  auto base = static_cast<std::int64_t>(sum_of_counts(task.counts, static_cast<int>(blockIdx.x)));
  for (std::int64_t first = begin; first < end; first += truth_tile) {
    const int all = pick_tile<std::uint8_t>(mask, first, end, picked);
    const int written = fitting(task.room, base, all);
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < written; i += truth_threads) {
      const std::int64_t element = first + picked[i];
      out[base + i] = x[task.is_dense ? element : offset_of(task.axes, element)];
    }
    base += all;
  }
  if (blockIdx.x + 1 == gridDim.x && threadIdx.x == 0) judge_room(task.room, base);
}

// What comes after the selected elements, and their number.
template <class U>
__global__ void __launch_bounds__(truth_threads)
    fill_rest(const unsigned long long* counts, int ranges, U* out, std::int64_t size, U fill, unsigned long long* total) {
  const unsigned long long found = sum_of_counts(counts, ranges);
  if (blockIdx.x == 0 && threadIdx.x == 0) *total = found;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * truth_threads;
  const std::int64_t first = static_cast<std::int64_t>(found) + blockIdx.x * static_cast<std::int64_t>(truth_threads);
  for (std::int64_t i = first + threadIdx.x; i < size; i += step) out[i] = fill;
}

template <class U>
U fill_of(const Operand& fill) {
  U value;
  std::memcpy(&value, fill.data, sizeof value);
  return value;
}

}  // namespace

static std::int64_t masked_select_bytes(const WorkspaceCall& call) {
  return std::max<std::int64_t>(1, ranges_of(call.input(1).count()).count) * 8;
}

static void masked_select(const KernelCall& call, KernelContext& context) {
  const Operand& x = device_input(call, 0);
  const Operand& mask = device_input(call, 1);
  if (!call.in(2).is_immediate) throw KernelFailed("the fill of a masked select must be a number inside the call", call.site);
  const auto attributes = call.attributes->as<MaskedSelectAttributes>();
  Queue& queue = queue_of(context);
  const Ranges ranges = ranges_of(mask.count());
  auto* const counts = call.scratch().as<unsigned long long>();
  SelectTask task{x.data, call.out().data, room_task(attributes.size, attributes.room, queue),
                  counts, false,           row_axes(x, 0, x.rank)};
  task.is_dense = task.axes.is_dense();
  const std::int64_t blocks = std::clamp<std::int64_t>(attributes.size / (8 * truth_threads), 1, 1024);
  visit_size(size_of(x.dtype), [&]<class U>(U) {
    if (ranges.count > 0) {
      launch_count<std::uint8_t>(mask, ranges, counts, queue, call);
      launch<write_selected<U>>(queue, call, {static_cast<unsigned>(ranges.count), truth_threads}, truth_task(mask, ranges),
                                task);
    }
    launch<fill_rest<U>>(queue, call, {static_cast<unsigned>(blocks), truth_threads}, counts, static_cast<int>(ranges.count),
                         call.out().as<U>(), attributes.size, fill_of<U>(call.in(2)), call.out(1).as<unsigned long long>());
  });
}

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("MaskedSelect", masked_select, workspace<masked_select_bytes>);

}  // namespace tutti::kernels::cuda
