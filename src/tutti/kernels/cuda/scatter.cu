#include <array>
#include <cstring>

#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/scatter_combine.cuh"

namespace tutti::kernels::cuda {

namespace {

constexpr std::int64_t alignment = 256;
std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

// What the radix sort works in beside the two buffers of keys and positions. It keeps 256 counters of four bytes for each tile
// of, at the least, 1024 elements, in portions of up to 2^28, and a histogram of 256 numbers per portion and byte of the key.
std::int64_t sort_bytes(std::int64_t count) {
  constexpr std::int64_t portion = std::int64_t{1} << 27U;
  return (std::int64_t{1} << 20U) + std::min(count, 2 * portion) + (count / portion + 2) * 8 * (256 * 8 + 64);
}

// Writes slices whose position is the last for its slot.
template <class Unit>
__global__ void __launch_bounds__(index_threads) set_slices(const __grid_constant__ ScatterTask task) {
  const IndexTask& space = task.space;
  const Share share = share_of(space);
  for (std::int64_t number = share.first; number < space.count; number += share.step) {
    std::int64_t position = number;
    if (task.keys != nullptr) {
      const std::int64_t slot = number_at(task.keys, number, task.is_wide);
      if (slot == space.slots || (number + 1 < space.count && number_at(task.keys, number + 1, task.is_wide) == slot)) continue;
      position = number_at(task.order, number, task.is_wide);
    }
    Located at;
    if (!locate(space, position, share.lane == 0, at)) continue;
    if (task.owner != nullptr && number_at(task.owner, at.slot, task.is_wide) != position + 1) continue;
    Unit* to = static_cast<Unit*>(task.region) + at.place;
    for (std::int64_t i = share.begin + share.lane; i < share.end; i += space.lanes)
      to[offset_of(space.inner_place, i)] = value_at<Unit>(task, at.value + offset_of(space.inner_value, i));
  }
}

void set(ScatterTask& task, std::int64_t element_bytes, Queue& queue, const KernelCall& call) {
  const std::int64_t unit =
      task.values == nullptr ? element_bytes : into_units(task.space, {task.region, task.values}, element_bytes);
  const Grid grid = deal_slices(task.space, queue);
  visit_unit(unit, [&]<class Unit>(Unit) { launch<set_slices<Unit>>(queue, call, grid, task); });
}

// Without indices: the values are copied over the region.
void set_region(const KernelCall& call, const ScatterAttributes& attributes, Queue& queue) {
  Operand from = call.in(1);
  Operand to = call.out();
  to.data += attributes.offset * static_cast<std::int64_t>(size_of(to.dtype));
  to.rank = static_cast<std::uint8_t>(attributes.rank);
  to.axes = attributes.axes;
  if (from.rank == 0) {
    for (std::size_t i = 0; i < to.rank; ++i) from.axes[i] = {to.axes[i].size, 0};
    from.rank = to.rank;
  }
  copy_operand(from, to, queue, call);
}

}  // namespace

ScatterPlan plan_scatter(const IndexTask& task, DType dtype, ScatterMode mode) {
  constexpr std::int64_t few_bytes = std::int64_t{64} << 20U;  // cleared faster than positions are sorted
  ScatterPlan plan;
  const bool is_commutative = mode == ScatterMode::minimum || mode == ScatterMode::maximum || !is_floating(dtype);
  if (mode != ScatterMode::set && is_commutative) {
    plan.method = ScatterMethod::atomic;
    return plan;
  }
  bool is_same = true;  // the values of all positions
  for (int i = 0; i < task.positions.rank; ++i) is_same = is_same && task.value[i] == 0;
  if (task.count <= 1 || (mode == ScatterMode::set && is_same)) return plan;
  constexpr std::int64_t limit = (std::int64_t{1} << 32U) - 2;
  plan.is_wide = task.count > limit || task.slots > limit;
  const std::int64_t width = plan.is_wide ? 8 : 4;
  if (mode == ScatterMode::set && (task.slots <= few_bytes / width || task.slots / 16 <= task.count)) {
    plan.method = ScatterMethod::owner;
    plan.bytes = task.slots * width;
    return plan;
  }
  plan.method = ScatterMethod::sorted;
  const std::int64_t numbers = aligned(task.count * width);
  plan.other_keys = numbers;
  plan.order = 2 * numbers;
  plan.other_order = 3 * numbers;
  plan.storage = 4 * numbers;
  plan.storage_bytes = sort_bytes(task.count);
  plan.bytes = plan.storage + plan.storage_bytes;
  return plan;
}

static std::int64_t scatter_bytes(const WorkspaceCall& call) {
  std::array<Operand, most_axes + 2> operands;
  KernelCall seen;
  for (; seen.inputs < call.inputs(); ++seen.inputs) operands[seen.inputs] = call.input(seen.inputs);
  seen.operands = operands.data();
  seen.attributes = &call.attributes();
  const IndexTask task = index_task(scatter_space(seen), operands.data() + 2);
  return plan_scatter(task, operands[0].dtype, call.attributes().as<ScatterAttributes>().mode).bytes;
}

static void scatter(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<ScatterAttributes>();
  const Operand& x = device_input(call, 0);
  const Operand& values = call.in(1);
  const Operand& out = call.out();
  for (std::size_t i = 2; i < call.inputs; ++i) (void)device_input(call, i);
  Queue& queue = queue_of(context);
  const auto size = static_cast<std::int64_t>(size_of(out.dtype));
  const auto begin_with_x = [&] {
    if (out.data != x.data) copy_operand(x, out, queue, call);
  };
  if (call.inputs == 2 && attributes.mode == ScatterMode::set) {
    begin_with_x();
    return set_region(call, attributes, queue);
  }
  ScatterTask task{};
  const IndexSpace space = scatter_space(call);
  task.space = index_task(space, call.operands + 2);
  if (task.space.count == 0 && space.position_count() == 0) return begin_with_x();
  task.region = out.data + attributes.offset * size;
  if (values.is_immediate) {
    std::memcpy(&task.value, values.data, static_cast<std::size_t>(size));
  } else {
    task.values = values.data;
  }
  const ScatterPlan plan = plan_scatter(task.space, out.dtype, attributes.mode);
  arm_index_trap(task.space, queue);
  if (plan.method == ScatterMethod::owner) {
    if (set_in_rows(task, queue, call)) return;
    find_owners(task, plan, call.scratch().data, queue, call);
    if (merge_owned(task, queue, call)) return;
  }
  begin_with_x();
  if (task.space.count == 0) {  // no outer step to do: the indices are judged all the same
    task.space.count = space.position_count();
    task.space.slice = 0;
    return set(task, size, queue, call);
  }
  if (plan.method == ScatterMethod::sorted) sort_positions(task, plan, call.scratch().data, queue, call);
  if (attributes.mode == ScatterMode::set) return set(task, size, queue, call);
  if (plan.method == ScatterMethod::atomic) return scatter_atomically(task, attributes.mode, out.dtype, queue, call);
  scatter_in_order(task, attributes.mode, out.dtype, queue, call);
}

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("TensorScatterUpdate", scatter, workspace<scatter_bytes>) &&
    register_cuda_kernel("TensorScatterAdd", scatter, workspace<scatter_bytes>) &&
    register_cuda_kernel("TensorScatterMul", scatter, workspace<scatter_bytes>) &&
    register_cuda_kernel("TensorScatterMin", scatter, workspace<scatter_bytes>) &&
    register_cuda_kernel("TensorScatterMax", scatter, workspace<scatter_bytes>);

}  // namespace tutti::kernels::cuda
