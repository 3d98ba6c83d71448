#include <array>

#include "tutti/exec/attributes.h"
#include "tutti/exec/indexing_attributes.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/index_task.cuh"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

constexpr std::int64_t few_units = 4;  // a slice of no more is no work for several threads

template <class Unit, class Index>
__global__ void __launch_bounds__(index_threads)
    gather_units(const __grid_constant__ IndexTask task, const Unit* x, Unit* out, std::int64_t run) {
  const auto begin = static_cast<Index>(blockIdx.x * run);
  const auto end = static_cast<Index>(blockIdx.x * run + run < task.count ? blockIdx.x * run + run : task.count);
  for (Index first = begin + threadIdx.x; first < end; first += index_threads * positions_in_flight) {
    Index position[positions_in_flight];
    bool is_in[positions_in_flight];
    number_tile(first, end, position, is_in);
    std::int64_t from[positions_in_flight] = {};
    std::int64_t to[positions_in_flight] = {};
    take_apart(task.positions, position, [&](int u, int axis, std::int64_t here) {
      from[u] += here * task.place[axis];
      to[u] += here * task.value[axis];
    });
    look_up(task, position, true, is_in, [&](int u, int k, std::int64_t index) { from[u] += index * task.indexed_stride[k]; });
    Unit some[positions_in_flight];
#pragma unroll
    for (int u = 0; u < positions_in_flight; ++u) {
      if (is_in[u]) some[u] = x[from[u]];
    }
#pragma unroll
    for (int u = 0; u < positions_in_flight; ++u) {
      if (is_in[u]) out[to[u]] = some[u];
    }
  }
}

// Slices that are dense on both sides.
template <class Unit>
__global__ void __launch_bounds__(index_threads) gather_slices(const __grid_constant__ IndexTask task, const Unit* x, Unit* out) {
  const Share share = share_of(task);
  for (std::int64_t position = share.first; position < task.count; position += share.step) {
    Located at;
    if (!locate(task, position, share.lane == 0, at)) continue;
    const Unit* from = x + at.place;
    Unit* to = out + at.value;
#pragma unroll 4
    for (std::int64_t i = share.begin + share.lane; i < share.end; i += task.lanes) to[i] = from[i];
  }
}

template <class Unit>
void launch_gather(IndexTask& task, Queue& queue, const KernelCall& call) {
  const auto* const x = call.in(0).as<const Unit>();
  auto* const out = call.out().as<Unit>();
  if (task.slice != 1) {
    const Grid grid = deal_slices(task, queue);
    return launch<gather_slices<Unit>>(queue, call, grid, task, x, out);
  }
  const Runs runs = deal_runs(task.count, queue);
  if (task.is_small) return launch<gather_units<Unit, std::uint32_t>>(queue, call, runs.grid, task, x, out, runs.length);
  launch<gather_units<Unit, std::uint64_t>>(queue, call, runs.grid, task, x, out, runs.length);
}

// Indices are judged also where nothing is moved.
void gather(const IndexSpace& space, const KernelCall& call, KernelContext& context) {
  Queue& queue = queue_of(context);
  IndexTask task = index_task(space, &call.in(1));
  if (task.count == 0 && space.position_count() == 0) return;
  if (task.count == 0) {  // no outer step to do: the positions of one are looked at
    task.count = space.position_count();
    task.slice = 0;
  }
  const std::int64_t unit =
      into_units(task, {call.in(0).data, call.out().data}, static_cast<std::int64_t>(size_of(call.in(0).dtype)));
  if (task.slice > 0 && (task.slice <= few_units || !task.is_dense())) into_single_units(task, space);
  arm_index_trap(task, queue);
  switch (unit) {
    case 1: return launch_gather<std::uint8_t>(task, queue, call);
    case 2: return launch_gather<std::uint16_t>(task, queue, call);
    case 4: return launch_gather<std::uint32_t>(task, queue, call);
    case 8: return launch_gather<std::uint64_t>(task, queue, call);
    default: return launch_gather<uint4>(task, queue, call);
  }
}

void check_inputs(const KernelCall& call) {
  for (std::size_t i = 0; i < call.inputs; ++i) (void)device_input(call, i);
}

}  // namespace

static void take(const KernelCall& call, KernelContext& context) {
  check_inputs(call);
  const std::int32_t axis = call.attributes->as<TakeAttributes>().axis;
  const std::array names{static_cast<std::int8_t>(axis)};
  gather(gather_space(call, static_cast<std::size_t>(axis), names), call, context);
}

static void gather_nd(const KernelCall& call, KernelContext& context) {
  check_inputs(call);
  const auto attributes = call.attributes->as<GatherAttributes>();
  gather(gather_space(call, static_cast<std::size_t>(attributes.first), attributes.names), call, context);
}

static void take_along_axis(const KernelCall& call, KernelContext& context) {
  check_inputs(call);
  gather(along_space(call, static_cast<std::size_t>(call.attributes->as<AlongAttributes>().axis)), call, context);
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("GatherV2", take) &&
                                                   register_cuda_kernel("GatherNd", gather_nd) &&
                                                   register_cuda_kernel("TakeAlongAxis", take_along_axis);

}  // namespace tutti::kernels::cuda
