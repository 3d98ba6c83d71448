#include <algorithm>
#include <bit>

#include "tutti/exec/reduction_attributes.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/sum_kernels.cuh"

namespace tutti::kernels::cuda {

namespace {

constexpr std::int64_t one_launch_elements = 16 * 1024;  // below this a second launch costs more than it saves
constexpr int most_multiprocessors = 256;                // room for partial sums is asked for before the GPU is known

std::int64_t magnitude(std::int64_t x) { return x < 0 ? -x : x; }
std::int64_t parts_of(std::int64_t n, std::int64_t size) { return (n + size - 1) / size; }
int power_of_two(std::int64_t at_least, std::int64_t at_most) {
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(at_least, 1, at_most))));
}

// Into kept axes, in order, and summed ones, far strides first and all forward.
void split_axes(const Operand& in, std::uint32_t mask, SumTask& task) {
  const std::byte* data = in.data;
  std::array<Axis, most_axes> summed;
  std::size_t n = 0;
  for (std::size_t i = 0; i < in.rank; ++i) {
    Axis axis = in.axes[i];
    const bool is_summed = (mask >> i & 1U) != 0;
    (is_summed ? task.length : task.outputs) *= axis.size;
    if (!is_summed) {
      task.kept.push_back(axis);
      continue;
    }
    if (axis.stride < 0 && axis.size > 0) {
      data += (axis.size - 1) * axis.stride * static_cast<std::int64_t>(size_of(in.dtype));
      axis.stride = -axis.stride;
    }
    std::size_t at = n++;
    for (; at > 0 && summed[at - 1].stride < axis.stride; --at) summed[at] = summed[at - 1];
    summed[at] = axis;
  }
  for (std::size_t i = 0; i < n; ++i) task.summed.push_back(summed[i]);
  task.data = data;
}

// Elements next to each other in memory belong to different sums.
bool kept_axis_is_inner(const SumTask& task) {
  if (task.kept.rank == 0 || task.summed.rank == 0) return false;
  const std::int64_t inner = magnitude(task.kept.stride[task.kept.rank - 1]);
  return inner != 0 && inner < task.summed.stride[task.summed.rank - 1];
}

}  // namespace

SumPlan plan_sum(const Operand& in, std::uint32_t mask, int multiprocessors) {
  SumPlan plan;
  SumTask& task = plan.task;
  split_axes(in, mask, task);
  if (task.outputs == 0 || task.length == 0) return plan;
  const std::int64_t blocks = static_cast<std::int64_t>(multiprocessors) * sum_blocks_per_multiprocessor;
  // Two rounds of blocks when several sums share the GPU: the last round is then never a large share.
  const auto cut = [&](std::int64_t jobs, std::int64_t least_length) {
    if (task.outputs * task.length <= one_launch_elements) return std::int64_t{1};
    const std::int64_t wanted = parts_of(jobs == 1 ? blocks : 2 * blocks, jobs);
    return std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, task.length / least_length));
  };
  if (kept_axis_is_inner(task)) {
    plan.mapping = SumMapping::by_column;
    const int width = power_of_two(task.kept.size[task.kept.rank - 1], 32);
    const int height = power_of_two(parts_of(task.length, 8), sum_block_threads / width);
    task.lanes = sum_block_threads / height;
    const std::int64_t tiles = parts_of(task.outputs, task.lanes);
    task.parts = tiles >= blocks ? 1 : cut(tiles, static_cast<std::int64_t>(height) * 8);
    task.partial_step = task.outputs;
    return plan;
  }
  plan.is_side_by_side = task.summed.is_dense();
  const std::int64_t at_once = plan.is_side_by_side ? 16 / static_cast<std::int64_t>(size_of(in.dtype)) : 1;  // elements per load
  if (task.length <= 128 * at_once || task.outputs >= std::int64_t{96} * multiprocessors) {
    task.lanes = power_of_two(parts_of(task.length, 2 * at_once), 32);
    return plan;
  }
  plan.mapping = SumMapping::by_block;
  task.parts = task.outputs >= blocks ? 1 : cut(task.outputs, sum_block_threads * at_once * 4);
  task.output_step = task.parts;
  return plan;
}

static std::int64_t sum_workspace(const OpCall& call, const Inference& in) {
  const TensorImpl* tensor = call.inputs()[0].tensor;
  if (tensor == nullptr) return 0;
  return plan_sum(operand_of(*tensor), in.attributes<ReductionAttributes>().axes, most_multiprocessors).partial_bytes();
}

static void sum(const KernelCall& call, KernelContext& context) {
  const Operand& in = device_input(call, 0);
  const Operand& out = call.out();
  Queue& queue = queue_of(context);
  SumPlan plan =
      plan_sum(in, call.attributes->as<ReductionAttributes>().axes, std::min(queue.properties().multiprocessors, most_multiprocessors));
  if (plan.task.outputs == 0) return;
  if (plan.task.length == 0) {
    const std::size_t bytes = static_cast<std::size_t>(plan.task.outputs) * size_of(out.dtype);
    return check(cudaMemsetAsync(out.data, 0, bytes, queue.stream()), "filling with zeros", call);
  }
  plan.task.out = out.data;
  if (plan.task.parts > 1) plan.task.partials = call.scratch().data;
  if (is_floating(in.dtype)) {
    sum_floats(plan, in.dtype, queue, call);
  } else {
    sum_integers(plan, in.dtype, queue, call);
  }
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("Sum", sum, sum_workspace);

}  // namespace tutti::kernels::cuda
