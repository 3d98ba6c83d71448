#include "tutti/base/error.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/elementwise.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/truth.cuh"

namespace tutti::kernels::cuda {

namespace {

struct RowsTask {
  long long* rows;
  RoomTask room;
  const unsigned long long* counts;
  int rank;
  std::int64_t size[most_axes];
};

// A thread takes neighbouring elements, so that rows come out in order.
template <class U>
__global__ void __launch_bounds__(truth_threads)
    write_rows(const __grid_constant__ TruthTask task, const __grid_constant__ RowsTask to) {
  using Scan = cub::BlockScan<int, truth_threads>;
  __shared__ typename Scan::TempStorage storage;
  const Truth<U> truth{static_cast<U>(task.bits)};
  const U* data = static_cast<const U*>(task.data);
  const std::int64_t begin = blockIdx.x * task.range;
  const std::int64_t end = smaller(begin + task.range, task.elements);
  auto base = static_cast<std::int64_t>(sum_of_counts(to.counts, static_cast<int>(blockIdx.x)));
  for (std::int64_t at = begin; at < end; at += truth_tile) {
    const std::int64_t first = at + threadIdx.x * truths_per_thread;
    unsigned found = 0;
#pragma unroll
    for (int i = 0; i < truths_per_thread; ++i) {
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
      if (row >= to.room.size) break;
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
  if (blockIdx.x + 1 == gridDim.x && threadIdx.x == 0) judge_room(to.room, base);
}

// The rows after those that were found, and their number.
__global__ void __launch_bounds__(truth_threads)
    fill_rows(const __grid_constant__ RowsTask to, int ranges, long long fill, unsigned long long* total) {
  const unsigned long long found = sum_of_counts(to.counts, ranges);
  if (blockIdx.x == 0 && threadIdx.x == 0) *total = found;
  const std::int64_t end = to.room.size * to.rank;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * truth_threads;
  const std::int64_t first = static_cast<std::int64_t>(found) * to.rank;
  for (std::int64_t i = first + blockIdx.x * static_cast<std::int64_t>(truth_threads) + threadIdx.x; i < end; i += step)
    to.rows[i] = fill;
}

Ranges ranges_of_input(const Inference& in) { return ranges_of(element_count(in.shape(0)).value_or(0)); }

}  // namespace

static std::int64_t nonzero_workspace(const OpCall& /*call*/, const Inference& in) {
  const std::int64_t ranges = ranges_of_input(in).count;
  const bool is_padded = in.outputs() == 2;
  return ranges > 1 || is_padded ? std::max<std::int64_t>(1, ranges) * 8 : 0;
}

static void nonzero(const KernelCall& call, KernelContext& context) {
  const Operand& in = device_input(call, 0);
  const Operand& out = call.out();
  const auto attributes = call.attributes->as<NonzeroAttributes>();
  const bool is_padded = attributes.room == Room::padded;
  Queue& queue = queue_of(context);
  const std::int64_t room = out.axes[0].size;
  const Ranges ranges = ranges_of(in.count());
  if (ranges.count == 0 && !is_padded) {
    if (room == 0) return;
    throw KernelFailed(attributes.room == Room::given ? mask_does_not_match(room, 0) : changed_since_counted(room, 0), call.site);
  }
  RowsTask to{};
  to.rows = out.as<long long>();
  to.room = room_task(room, attributes.room, queue);
  to.rank = in.rank;
  for (std::size_t i = 0; i < in.rank; ++i) to.size[i] = in.axes[i].size;
  auto* const counts = ranges.count > 1 || is_padded ? call.scratch().as<unsigned long long>() : nullptr;  // one range: row 0
  to.counts = counts;
  if (ranges.count > 0) {
    visit_width(in.dtype, [&](auto width) {
      using U = decltype(width);
      if (counts != nullptr) launch_count<U>(in, ranges, counts, queue, call);
      launch<write_rows<U>>(queue, call, {static_cast<unsigned>(ranges.count), truth_threads}, truth_task(in, ranges), to);
    });
  }
  if (!is_padded) return;
  const std::int64_t blocks = std::clamp<std::int64_t>(room * in.rank / (8 * truth_threads), 1, 1024);
  launch<fill_rows>(queue, call, {static_cast<unsigned>(blocks), truth_threads}, to, static_cast<int>(ranges.count),
                    static_cast<long long>(attributes.fill), call.out(1).as<unsigned long long>());
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("NonZero", nonzero, nonzero_workspace);

}  // namespace tutti::kernels::cuda
