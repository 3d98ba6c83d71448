#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "tutti/exec/reduction_attributes.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/reductions.h"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

constexpr std::int64_t one_launch_elements = 16 * 1024;  // below this a second launch costs more than it saves

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

int lanes_of(std::int64_t length, std::int64_t at_once) { return power_of_two(parts_of(length, 2 * at_once), 32); }

// Elements next to each other in memory belong to different outputs.
bool kept_axis_is_inner(const ReductionTask& task) {
  if (task.kept.rank == 0 || task.reduced.rank == 0) return false;
  const std::int64_t inner = std::abs(task.kept.stride[task.kept.rank - 1]);
  return inner != 0 && inner < std::abs(task.reduced.stride[task.reduced.rank - 1]);
}

}  // namespace

std::int64_t elements_per_load(DType dtype, const ReductionTraits& traits) {
  const bool is_single = traits.loads == Loads::elements || (traits.loads == Loads::floats && !is_floating(dtype));
  return is_single ? 1 : 16 / static_cast<std::int64_t>(size_of(dtype));
}

int lanes_of_row(std::int64_t length, DType dtype) { return lanes_of(length, elements_per_load(dtype, plain_reduction)); }
int elements_of_a_row_at_once(DType dtype) {
  return size_of(dtype) == 8 ? 1 : static_cast<int>(elements_per_load(dtype, plain_reduction));
}

ReductionPlan plan_reduction(const Operand& in, std::uint32_t mask, int multiprocessors, const ReductionTraits& traits) {
  ReductionPlan plan;
  ReductionTask& task = plan.task;
  split_axes(in, mask, traits.keeps_order, task);
  if (task.outputs == 0 || task.length == 0) {
    task.parts = 0;
    return plan;
  }
  // Blocks of threads with small elements, several in a word, hold more.
  const std::int64_t blocks = std::int64_t{multiprocessors} * (size_of(in.dtype) == 1 ? heavy_reduction.blocks_per_multiprocessor
                                                                                      : traits.blocks_per_multiprocessor);
  // Two rounds of blocks when several outputs share the GPU: the last round is then never a large share.
  const auto cut = [&](std::int64_t jobs, std::int64_t least_length) {
    if (jobs >= blocks || task.outputs * task.length <= one_launch_elements) return std::int64_t{1};
    const std::int64_t wanted = (jobs == 1 ? blocks : 2 * blocks) / jobs;
    return std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, task.length / least_length));
  };
  if (kept_axis_is_inner(task)) {
    plan.mapping = ReductionMapping::by_column;
    const int width = power_of_two(task.kept.size[task.kept.rank - 1], 32);
    const int height = power_of_two(parts_of(task.length, 8), reduction_block_threads / width);
    task.lanes = reduction_block_threads / height;
    const std::int64_t tiles = parts_of(task.outputs, task.lanes);
    task.parts = cut(tiles, std::int64_t{height} * 8);
    task.partial_step = task.outputs;
    return plan;
  }
  plan.is_side_by_side = task.reduced.is_dense();
  const std::int64_t at_once = plan.is_side_by_side ? elements_per_load(in.dtype, traits) : 1;
  // A warp has all it needs in flight and nothing to wait for; only a block brings enough threads to few outputs.
  if (task.length <= most_bytes_of_a_row / 16 * at_once || task.outputs >= std::int64_t{32} * multiprocessors) {
    task.lanes = lanes_of(task.length, at_once);
    return plan;
  }
  plan.mapping = ReductionMapping::by_block;
  task.parts = cut(task.outputs, reduction_block_threads * at_once * 4);
  task.output_step = task.parts;
  return plan;
}

namespace {

// Small elements as words of those that are contiguous along the innermost axis that is kept, where that can be.
std::optional<Operand> words_of(const Operand& in, std::uint32_t mask) {
  const auto together = 4 / static_cast<std::int64_t>(size_of(in.dtype));
  if (together < 2 || reinterpret_cast<std::uintptr_t>(in.data) % 4 != 0) return std::nullopt;
  Operand words = in;
  words.dtype = DType::i32;
  bool is_inner = true;
  for (std::size_t i = in.rank; i-- > 0;) {
    Axis& axis = words.axes[i];
    if (axis.size == 1) continue;
    const bool is_joined = is_inner && (mask >> i & 1U) == 0;
    if (is_joined && axis.stride != 1) return std::nullopt;
    std::int64_t& joined = is_joined ? axis.size : axis.stride;
    if (joined % together != 0) return std::nullopt;
    joined /= together;
    is_inner = is_inner && !is_joined;
  }
  return is_inner ? std::nullopt : std::optional(words);
}
// Of words that lie in packs.
std::optional<ReductionPlan> plan_words(const Operand& in, std::uint32_t mask, int multiprocessors) {
  const std::optional<Operand> words = words_of(in, mask);
  if (!words) return std::nullopt;
  const ReductionPlan plan = plan_reduction(*words, mask, multiprocessors, heavy_reduction);
  const bool is_fit = plan.mapping == ReductionMapping::by_column && fits_packs(plan.task, 4, 4);
  return is_fit ? std::optional(plan) : std::nullopt;
}

std::int64_t partials(const WorkspaceCall& call, std::uint32_t mask, const ReductionTraits& traits = plain_reduction) {
  return plan_reduction(call.input(0), mask, most_multiprocessors, traits).partials();
}
std::uint32_t axes_of(const WorkspaceCall& call) { return call.attributes().as<ReductionAttributes>().axes; }

template <int total_bytes>
std::int64_t total_bytes_of(const WorkspaceCall& call) {
  return partials(call, axes_of(call), total_bytes > 8 ? heavy_reduction : plain_reduction) * total_bytes;
}
std::int64_t product_bytes(const WorkspaceCall& call) { return partials(call, axes_of(call), single_reduction) * 8; }
std::int64_t argument_bytes(const WorkspaceCall& call) {
  return partials(call, 1U << call.attributes().as<ArgumentAttributes>().axis, ordered_reduction) * 16;
}
// Whether words can be loaded is known only when there is an address.
std::int64_t truth_bytes(const WorkspaceCall& call) {
  const std::optional<ReductionPlan> words = plan_words(call.input(0), axes_of(call), most_multiprocessors);
  return std::max(words ? words->partials() : 0, partials(call, axes_of(call), bitwise_reduction)) * 8;
}
std::int64_t count_bytes(const WorkspaceCall& call) { return partials(call, ~0U, bitwise_reduction) * 8; }

int multiprocessors_of(const Queue& queue) { return std::min(queue.properties().multiprocessors, most_multiprocessors); }

// Calls run(plan, dtype, queue, call) unless there is nothing to write.
template <class Run>
void reduce(const KernelCall& call, const KernelContext& context, std::uint32_t mask, const ReductionTraits& traits, Run&& run) {
  const Operand& in = device_input(call, 0);
  Queue& queue = queue_of(context);
  ReductionPlan plan = plan_reduction(in, mask, multiprocessors_of(queue), traits);
  if (plan.task.outputs == 0) return;
  plan.task.out = call.out().data;
  if (plan.task.parts > 1) plan.task.partials = call.scratch().data;
  run(plan, in.dtype, queue, call);
}
template <class Run>
void reduce(const KernelCall& call, const KernelContext& context, Run&& run, const ReductionTraits& traits = plain_reduction) {
  reduce(call, context, call.attributes->as<ReductionAttributes>().axes, traits, run);
}

void count_nonzero(const KernelCall& call, KernelContext& context) { reduce(call, context, count_elements, bitwise_reduction); }
void sum(const KernelCall& call, KernelContext& context) {
  if (call.in(0).dtype == DType::boolean) return count_nonzero(call, context);
  reduce(call, context, [](const auto& plan, DType dtype, auto& queue, const auto& of) {
    is_floating(dtype) ? sum_floats(plan, dtype, SumOf::elements, 1, queue, of) : sum_integers(plan, dtype, queue, of);
  });
}
void mean(const KernelCall& call, KernelContext& context) {
  reduce(call, context, [](const auto& plan, DType dtype, auto& queue, const auto& of) {
    sum_floats(plan, dtype, SumOf::elements, static_cast<double>(plan.task.length), queue, of);
  });
}
void product(const KernelCall& call, KernelContext& context) { reduce(call, context, multiply_elements, single_reduction); }
template <bool of_largest>
void extremum(const KernelCall& call, KernelContext& context) {
  reduce(call, context, [](const auto& plan, DType dtype, auto& queue, const auto& of) {
    is_floating(dtype) ? extremum_of_floats(plan, dtype, of_largest, false, queue, of)
                       : extremum_of_integers(plan, dtype, of_largest, queue, of);
  });
}
template <bool of_all>
void truth(const KernelCall& call, KernelContext& context) {
  Queue& queue = queue_of(context);
  const Operand& in = device_input(call, 0);
  const std::uint32_t mask = call.attributes->as<ReductionAttributes>().axes;
  std::optional<ReductionPlan> words = plan_words(in, mask, multiprocessors_of(queue));
  if (words && reinterpret_cast<std::uintptr_t>(call.out().data) % 4 == 0) {
    words->task.out = call.out().data;
    if (words->task.parts > 1) words->task.partials = call.scratch().data;
    return test_columns(*words, in.dtype, of_all, queue, call);
  }
  reduce(
      call, context, [](const auto& plan, DType dtype, auto& on, const auto& of) { test_elements(plan, dtype, of_all, on, of); },
      bitwise_reduction);
}
void count_all_nonzero(const KernelCall& call, KernelContext& context) {
  reduce(call, context, ~0U, bitwise_reduction, count_elements);
}
template <bool takes_root>
void variance(const KernelCall& call, KernelContext& context) {
  const double correction = call.attributes->as<ReductionAttributes>().parameter;
  reduce(
      call, context,
      [correction](const auto& plan, DType dtype, auto& queue, const auto& of) {
        const double divisor = std::max(static_cast<double>(plan.task.length) - correction, 0.0);
        variance_of_elements(plan, dtype, divisor, takes_root, queue, of);
      },
      heavy_reduction);
}
void log_sum_exp(const KernelCall& call, KernelContext& context) {
  reduce(call, context, log_sum_exp_of_elements, heavy_reduction);
}
void norm(const KernelCall& call, KernelContext& context) {
  const double order = call.attributes->as<ReductionAttributes>().parameter;
  reduce(call, context, [order](const auto& plan, DType dtype, auto& queue, const auto& of) {
    if (std::isinf(order)) return extremum_of_floats(plan, dtype, order > 0, true, queue, of);
    if (order == 1) return sum_floats(plan, dtype, SumOf::magnitudes, 1, queue, of);
    if (order == 2) return sum_floats(plan, dtype, SumOf::squares, 1, queue, of);
    power_norm_of_elements(plan, dtype, order, queue, of);
  });
}
template <bool of_largest>
void argument(const KernelCall& call, KernelContext& context) {
  const std::int32_t axis = call.attributes->as<ArgumentAttributes>().axis;
  reduce(call, context, 1U << axis, ordered_reduction, [](const auto& plan, DType dtype, auto& queue, const auto& of) {
    place_of_extremum(plan, dtype, of_largest, queue, of);
  });
}

[[maybe_unused]] const bool reduction_is_registered =
    register_cuda_kernel("Sum", sum, workspace<total_bytes_of<8>>) &&
    register_cuda_kernel("Mean", mean, workspace<total_bytes_of<8>>) &&
    register_cuda_kernel("Prod", product, workspace<product_bytes>) &&
    register_cuda_kernel("Max", extremum<true>, workspace<total_bytes_of<8>>) &&
    register_cuda_kernel("Min", extremum<false>, workspace<total_bytes_of<8>>) &&
    register_cuda_kernel("All", truth<true>, workspace<truth_bytes>) &&
    register_cuda_kernel("Any", truth<false>, workspace<truth_bytes>) &&
    register_cuda_kernel("CountNonzeroOnAxes", count_nonzero, workspace<total_bytes_of<8>>) &&
    register_cuda_kernel("CountNonzero", count_all_nonzero, workspace<count_bytes>) &&
    register_cuda_kernel("Var", variance<false>, workspace<total_bytes_of<24>>) &&
    register_cuda_kernel("Std", variance<true>, workspace<total_bytes_of<24>>) &&
    register_cuda_kernel("LogSumExp", log_sum_exp, workspace<total_bytes_of<16>>) &&
    register_cuda_kernel("Norm", norm, workspace<total_bytes_of<8>>) &&
    register_cuda_kernel("ArgMax", argument<true>, workspace<argument_bytes>) &&
    register_cuda_kernel("ArgMin", argument<false>, workspace<argument_bytes>);

}  // namespace

}  // namespace tutti::kernels::cuda
