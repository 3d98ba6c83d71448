#include "tutti/exec/indexing_attributes.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/index_task.cuh"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

template <class Unit>
__global__ void __launch_bounds__(index_threads)
    gather_slices(const __grid_constant__ IndexTask task, const Unit* x, Unit* out, bool is_dense) {
  const Share share = share_of(task);
  for (std::int64_t position = share.first; position < task.count; position += share.step) {
    Located at;
    if (!locate(task, position, share.lane == 0, at)) continue;
    const Unit* from = x + at.place;
    Unit* to = out + at.value;
    if (is_dense) {
#pragma unroll 4
      for (std::int64_t i = share.begin + share.lane; i < share.end; i += task.lanes) to[i] = from[i];
    } else {
      for (std::int64_t i = share.begin + share.lane; i < share.end; i += task.lanes)
        to[offset_of(task.inner_value, i)] = from[offset_of(task.inner_place, i)];
    }
  }
}

template <class Unit>
void launch_gather(const IndexTask& task, const Grid& grid, Queue& queue, const KernelCall& call) {
  launch<gather_slices<Unit>>(queue, call, grid, task, call.in(0).as<const Unit>(), call.out().as<Unit>(), task.is_dense());
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
      into_units(task, call.in(0).data, call.out().data, static_cast<std::int64_t>(size_of(call.in(0).dtype)));
  const Grid grid = deal_slices(task, queue);
  arm_index_trap(task, queue);
  switch (unit) {
    case 1: return launch_gather<std::uint8_t>(task, grid, queue, call);
    case 2: return launch_gather<std::uint16_t>(task, grid, queue, call);
    case 4: return launch_gather<std::uint32_t>(task, grid, queue, call);
    case 8: return launch_gather<std::uint64_t>(task, grid, queue, call);
    default: return launch_gather<uint4>(task, grid, queue, call);
  }
}

void check_inputs(const KernelCall& call) {
  for (std::size_t i = 0; i < call.inputs; ++i) (void)device_input(call, i);
}

}  // namespace

static void gather_nd(const KernelCall& call, KernelContext& context) {
  check_inputs(call);
  const auto attributes = call.attributes->as<GatherAttributes>();
  gather(gather_space(call, static_cast<std::size_t>(attributes.first), attributes.names), call, context);
}

static void take_along_axis(const KernelCall& call, KernelContext& context) {
  check_inputs(call);
  gather(along_space(call, static_cast<std::size_t>(call.attributes->as<AlongAttributes>().axis)), call, context);
}

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("GatherNd", gather_nd) && register_cuda_kernel("TakeAlongAxis", take_along_axis);

}  // namespace tutti::kernels::cuda
