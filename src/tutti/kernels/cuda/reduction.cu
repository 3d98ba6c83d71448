#include <algorithm>
#include <bit>
#include <cmath>

#include "tutti/exec/reduction_attributes.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/reductions.h"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

constexpr std::int64_t one_launch_elements = 16 * 1024;  // below this a second launch costs more than it saves

std::int64_t magnitude(std::int64_t x) { return x < 0 ? -x : x; }
std::int64_t parts_of(std::int64_t n, std::int64_t size) { return (n + size - 1) / size; }
int power_of_two(std::int64_t at_least, std::int64_t at_most) {
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(at_least, 1, at_most))));
}

// Into kept axes, in order, and reduced ones: far strides first and all forward, unless their order matters.
void split_axes(const Operand& in, std::uint32_t mask, bool keeps_order, ReductionTask& task) {
  const std::byte* data = in.data;
  std::array<Axis, most_axes> reduced;
  std::size_t n = 0;
  for (std::size_t i = 0; i < in.rank; ++i) {
    Axis axis = in.axes[i];
    const bool is_reduced = (mask >> i & 1U) != 0;
    (is_reduced ? task.length : task.outputs) *= axis.size;
    if (!is_reduced) {
      task.kept.push_back(axis);
      continue;
    }
    if (axis.stride < 0 && axis.size > 0 && !keeps_order) {
      data += (axis.size - 1) * axis.stride * static_cast<std::int64_t>(size_of(in.dtype));
      axis.stride = -axis.stride;
    }
    std::size_t at = n++;
    for (; at > 0 && !keeps_order && reduced[at - 1].stride < axis.stride; --at) reduced[at] = reduced[at - 1];
    reduced[at] = axis;
  }
  for (std::size_t i = 0; i < n; ++i) task.reduced.push_back(reduced[i]);
  task.data = data;
}

// Elements next to each other in memory belong to different outputs.
bool kept_axis_is_inner(const ReductionTask& task) {
  if (task.kept.rank == 0 || task.reduced.rank == 0) return false;
  const std::int64_t inner = magnitude(task.kept.stride[task.kept.rank - 1]);
  return inner != 0 && inner < magnitude(task.reduced.stride[task.reduced.rank - 1]);
}

}  // namespace

ReductionPlan plan_reduction(const Operand& in, std::uint32_t mask, int multiprocessors, bool keeps_order) {
  ReductionPlan plan;
  ReductionTask& task = plan.task;
  split_axes(in, mask, keeps_order, task);
  if (task.outputs == 0 || task.length == 0) {
    task.parts = 0;
    return plan;
  }
  const std::int64_t blocks = static_cast<std::int64_t>(multiprocessors) * reduction_blocks_per_multiprocessor;
  // Two rounds of blocks when several outputs share the GPU: the last round is then never a large share.
  const auto cut = [&](std::int64_t jobs, std::int64_t least_length) {
    if (task.outputs * task.length <= one_launch_elements) return std::int64_t{1};
    const std::int64_t wanted = parts_of(jobs == 1 ? blocks : 2 * blocks, jobs);
    return std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, task.length / least_length));
  };
  if (kept_axis_is_inner(task)) {
    plan.mapping = ReductionMapping::by_column;
    const int width = power_of_two(task.kept.size[task.kept.rank - 1], 32);
    const int height = power_of_two(parts_of(task.length, 8), reduction_block_threads / width);
    task.lanes = reduction_block_threads / height;
    const std::int64_t tiles = parts_of(task.outputs, task.lanes);
    task.parts = tiles >= blocks ? 1 : cut(tiles, static_cast<std::int64_t>(height) * 8);
    task.partial_step = task.outputs;
    return plan;
  }
  plan.is_side_by_side = task.reduced.is_dense();
  const std::int64_t at_once = plan.is_side_by_side ? 16 / static_cast<std::int64_t>(size_of(in.dtype)) : 1;  // elements per load
  // A warp has all it needs in flight and nothing to wait for; only a block brings enough threads to few outputs.
  if (task.length <= 256 * at_once || task.outputs >= std::int64_t{32} * multiprocessors) {
    task.lanes = power_of_two(parts_of(task.length, 2 * at_once), 32);
    return plan;
  }
  plan.mapping = ReductionMapping::by_block;
  task.parts = task.outputs >= blocks ? 1 : cut(task.outputs, reduction_block_threads * at_once * 4);
  task.output_step = task.parts;
  return plan;
}

namespace {

std::int64_t partials(const OpCall& call, std::uint32_t mask, bool keeps_order = false) {
  const TensorImpl* tensor = call.inputs()[0].tensor;
  if (tensor == nullptr) return 0;
  return plan_reduction(operand_of(*tensor), mask, most_multiprocessors, keeps_order).partials();
}
template <int total_bytes>
std::int64_t workspace(const OpCall& call, const Inference& in) {
  return partials(call, in.attributes<ReductionAttributes>().axes) * total_bytes;
}
std::int64_t argument_workspace(const OpCall& call, const Inference& in) {
  return partials(call, 1U << in.attributes<ArgumentAttributes>().axis, true) * 16;
}
std::int64_t count_workspace(const OpCall& call, const Inference& /*in*/) { return partials(call, ~0U) * 8; }

// Calls run(plan, dtype, queue, call) unless there is nothing to write.
template <class Run>
void reduce(const KernelCall& call, const KernelContext& context, std::uint32_t mask, bool keeps_order, Run&& run) {
  const Operand& in = device_input(call, 0);
  Queue& queue = queue_of(context);
  ReductionPlan plan = plan_reduction(in, mask, std::min(queue.properties().multiprocessors, most_multiprocessors), keeps_order);
  if (plan.task.outputs == 0) return;
  plan.task.out = call.out().data;
  if (plan.task.parts > 1) plan.task.partials = call.scratch().data;
  run(plan, in.dtype, queue, call);
}
template <class Run>
void reduce(const KernelCall& call, const KernelContext& context, Run&& run) {
  reduce(call, context, call.attributes->as<ReductionAttributes>().axes, false, run);
}

void sum(const KernelCall& call, KernelContext& context) {
  reduce(call, context, [](const auto& plan, DType dtype, auto& queue, const auto& of) {
    is_floating(dtype) ? sum_floats(plan, dtype, 1, queue, of) : sum_integers(plan, dtype, queue, of);
  });
}
void mean(const KernelCall& call, KernelContext& context) {
  reduce(call, context, [](const auto& plan, DType dtype, auto& queue, const auto& of) {
    sum_floats(plan, dtype, static_cast<double>(plan.task.length), queue, of);
  });
}
void product(const KernelCall& call, KernelContext& context) {
  reduce(call, context, [](const auto& plan, DType dtype, auto& queue, const auto& of) {
    is_floating(dtype) ? multiply_floats(plan, dtype, queue, of) : multiply_integers(plan, dtype, queue, of);
  });
}
template <bool of_largest>
void extremum(const KernelCall& call, KernelContext& context) {
  reduce(call, context, [](const auto& plan, DType dtype, auto& queue, const auto& of) {
    is_floating(dtype) ? extremum_of_floats(plan, dtype, of_largest, false, queue, of)
                       : extremum_of_integers(plan, dtype, of_largest, queue, of);
  });
}
template <bool of_all>
void truth(const KernelCall& call, KernelContext& context) {
  reduce(call, context,
         [](const auto& plan, DType dtype, auto& queue, const auto& of) { test_elements(plan, dtype, of_all, queue, of); });
}
void count_nonzero(const KernelCall& call, KernelContext& context) { reduce(call, context, count_elements); }
void count_all_nonzero(const KernelCall& call, KernelContext& context) { reduce(call, context, ~0U, false, count_elements); }
template <bool takes_root>
void variance(const KernelCall& call, KernelContext& context) {
  const double correction = call.attributes->as<ReductionAttributes>().parameter;
  reduce(call, context, [correction](const auto& plan, DType dtype, auto& queue, const auto& of) {
    const double divisor = std::max(static_cast<double>(plan.task.length) - correction, 0.0);
    variance_of_elements(plan, dtype, divisor, takes_root, queue, of);
  });
}
void log_sum_exp(const KernelCall& call, KernelContext& context) { reduce(call, context, log_sum_exp_of_elements); }
void norm(const KernelCall& call, KernelContext& context) {
  const double order = call.attributes->as<ReductionAttributes>().parameter;
  reduce(call, context, [order](const auto& plan, DType dtype, auto& queue, const auto& of) {
    if (std::isinf(order)) return extremum_of_floats(plan, dtype, order > 0, true, queue, of);
    const bool is_usual = order == 1 || order == 2;
    is_usual ? norm_of_elements(plan, dtype, order, queue, of) : power_norm_of_elements(plan, dtype, order, queue, of);
  });
}
template <bool of_largest>
void argument(const KernelCall& call, KernelContext& context) {
  const std::uint32_t mask = 1U << call.attributes->as<ArgumentAttributes>().axis;
  reduce(call, context, mask, true, [](const auto& plan, DType dtype, auto& queue, const auto& of) {
    is_floating(dtype) ? place_among_floats(plan, dtype, of_largest, queue, of)
                       : place_among_integers(plan, dtype, of_largest, queue, of);
  });
}

[[maybe_unused]] const bool is_registered =
    register_cuda_kernel("Sum", sum, workspace<8>) && register_cuda_kernel("Mean", mean, workspace<8>) &&
    register_cuda_kernel("Prod", product, workspace<8>) && register_cuda_kernel("Max", extremum<true>, workspace<8>) &&
    register_cuda_kernel("Min", extremum<false>, workspace<8>) && register_cuda_kernel("All", truth<true>, workspace<8>) &&
    register_cuda_kernel("Any", truth<false>, workspace<8>) &&
    register_cuda_kernel("CountNonzeroOnAxes", count_nonzero, workspace<8>) &&
    register_cuda_kernel("CountNonzero", count_all_nonzero, count_workspace) &&
    register_cuda_kernel("Var", variance<false>, workspace<24>) && register_cuda_kernel("Std", variance<true>, workspace<24>) &&
    register_cuda_kernel("LogSumExp", log_sum_exp, workspace<16>) && register_cuda_kernel("Norm", norm, workspace<8>) &&
    register_cuda_kernel("ArgMax", argument<true>, argument_workspace) &&
    register_cuda_kernel("ArgMin", argument<false>, argument_workspace);

}  // namespace

}  // namespace tutti::kernels::cuda
