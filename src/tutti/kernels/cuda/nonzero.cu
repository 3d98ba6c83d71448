#include <algorithm>

#include "tutti/base/error.h"
#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/layout.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/truth.cuh"

namespace tutti::kernels::cuda {

namespace {

struct RowsTask {
  long long* rows;
  RoomTask room;
  const unsigned long long* counts;
  int rank;
  bool is_small;  // fewer than 2^31 elements
  Divisor<std::uint32_t> by_rank;
  Divisor<std::uint32_t> by_inner[most_axes];
  Divisor<std::uint32_t> by_size[most_axes];
  std::int64_t inner[most_axes];  // elements in one step of the axis
  std::int64_t size[most_axes];
};

RowsTask rows_task(const Operand& in, const Operand& out) {
  RowsTask task{};
  task.rows = out.as<long long>();
  task.rank = in.rank;
  task.is_small = in.count() < (std::int64_t{1} << 31U);
  task.by_rank = Divisor<std::uint32_t>(std::max<std::int64_t>(1, in.rank));
  const auto divisor = [&](std::int64_t size) {
    return Divisor<std::uint32_t>(task.is_small ? std::max<std::int64_t>(1, size) : 1);
  };
  std::int64_t inner = 1;
  for (std::size_t i = in.rank; i-- > 0;) {
    task.inner[i] = inner;
    task.size[i] = in.axes[i].size;
    task.by_inner[i] = divisor(inner);
    task.by_size[i] = divisor(in.axes[i].size);
    inner *= in.axes[i].size;
  }
  return task;
}

__device__ __forceinline__ std::int64_t coordinate_of(const RowsTask& task, std::int64_t element, int axis) {
  if (task.is_small) {
    const std::uint32_t steps = task.by_inner[axis].quotient(static_cast<std::uint32_t>(element));
    return steps - task.by_size[axis].quotient(steps) * task.by_size[axis].divisor();
  }
  return element / task.inner[axis] % task.size[axis];
}

// Threads side by side write numbers side by side.
template <class U>
__global__ void __launch_bounds__(truth_threads)
    write_rows(const __grid_constant__ TruthTask task, const __grid_constant__ RowsTask to) {
  __shared__ std::uint16_t picked[truth_tile];
  const std::int64_t begin = blockIdx.x * task.range;
  const std::int64_t end = smaller(begin + task.range, task.elements);
  auto base = static_cast<std::int64_t>(sum_of_counts(to.counts, static_cast<int>(blockIdx.x)));
  for (std::int64_t first = begin; first < end; first += truth_tile) {
    const int all = pick_tile<U>(task, first, end, picked);
    const int numbers = fitting(to.room, base, all) * to.rank;
    long long* const rows = to.rows + base * to.rank;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < numbers; i += truth_threads) {
      const auto row = static_cast<int>(to.by_rank.quotient(static_cast<std::uint32_t>(i)));
      rows[i] = coordinate_of(to, first + picked[row], i - row * to.rank);
    }
    base += all;
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

// Positions come in row-major order, and the elements are read twice: a large operand that does not lie like that is copied
// first.
std::int64_t copied_bytes(const Operand& in) {
  constexpr std::int64_t fewest = std::int64_t{1} << 20;
  constexpr std::int64_t most_bytes = std::int64_t{1} << 30;
  const std::int64_t bytes = in.count() * static_cast<std::int64_t>(size_of(in.dtype));
  return in.count() > fewest && bytes <= most_bytes && !row_axes(in, 0, in.rank).is_dense() ? bytes : 0;
}
std::int64_t count_bytes(const Ranges& ranges) { return (std::max<std::int64_t>(1, ranges.count) * 8 + 255) / 256 * 256; }

}  // namespace

static std::int64_t nonzero_bytes(const WorkspaceCall& call) {
  const Operand x = call.input(0);
  const Ranges ranges = ranges_of(x.count());
  const bool is_padded = call.outputs() == 2;
  return ranges.count > 1 || is_padded ? count_bytes(ranges) + copied_bytes(x) : 0;
}

static void nonzero(const KernelCall& call, KernelContext& context) {
  const Operand& given = device_input(call, 0);
  const Operand& out = call.out();
  const auto attributes = call.attributes->as<NonzeroAttributes>();
  const bool is_padded = attributes.room == Room::padded;
  Queue& queue = queue_of(context);
  const std::int64_t room = out.axes[0].size;
  const Ranges ranges = ranges_of(given.count());
  const Operand in =
      copied_bytes(given) > 0 ? copied_in_row_order(given, call.scratch().data + count_bytes(ranges), queue, call) : given;
  if (ranges.count == 0 && !is_padded) {
    if (room == 0) return;
    throw KernelFailed(attributes.room == Room::given ? mask_does_not_match(room, 0) : changed_since_counted(room, 0), call.site);
  }
  RowsTask to = rows_task(in, out);
  to.room = room_task(room, attributes.room, queue);
  auto* const counts = ranges.count > 1 || is_padded ? call.scratch().as<unsigned long long>() : nullptr;  // one range: row 0
  to.counts = counts;
  if (ranges.count > 0) {
    visit_size(size_of(in.dtype), [&]<class U>(U) {
      if (counts != nullptr) launch_count<U>(in, ranges, counts, queue, call);
      launch<write_rows<U>>(queue, call, {static_cast<unsigned>(ranges.count), truth_threads}, truth_task(in, ranges), to);
    });
  }
  if (!is_padded) return;
  const std::int64_t blocks = std::clamp<std::int64_t>(room * in.rank / (8 * truth_threads), 1, 1024);
  launch<fill_rows>(queue, call, {static_cast<unsigned>(blocks), truth_threads}, to, static_cast<int>(ranges.count),
                    static_cast<long long>(attributes.fill), call.out(1).as<unsigned long long>());
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("NonZero", nonzero, workspace<nonzero_bytes>);

}  // namespace tutti::kernels::cuda
