#include <algorithm>
#include <array>
#include <optional>

#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/scatter_combine.cuh"
#include "tutti/kernels/cuda/scatter_rows.cuh"

namespace tutti::kernels::cuda {

namespace {

template <class Index>
__global__ void __launch_bounds__(index_threads)
    claim_slots(const __grid_constant__ IndexTask task, void* owner, bool is_wide, std::int64_t run) {
  const std::int64_t begin = blockIdx.x * run;
  const auto end = static_cast<Index>(begin + run < task.count ? begin + run : task.count);
  for (Index first = static_cast<Index>(begin) + threadIdx.x; first < end; first += index_threads * positions_in_flight) {
    Index position[positions_in_flight];
    bool is_in[positions_in_flight];
    number_tile(first, end, position, is_in);
    std::int64_t slot[positions_in_flight] = {};
    take_apart(task.positions, position, [&](int u, int axis, std::int64_t here) { slot[u] += here * task.slot[axis]; });
    look_up(task, position, true, is_in, [&](int u, int k, std::int64_t index) { slot[u] += index * task.indexed_slot[k]; });
#pragma unroll
    for (int u = 0; u < positions_in_flight; ++u) {
      if (!is_in[u]) continue;
      if (is_wide) {
        atomicMax(static_cast<unsigned long long*>(owner) + slot[u], static_cast<unsigned long long>(position[u]) + 1);
      } else {
        atomicMax(static_cast<unsigned*>(owner) + slot[u], static_cast<unsigned>(position[u]) + 1);
      }
    }
  }
}

// All units of the output in the order of its memory, and what they come from.
struct Targets {
  Numbering axes;
  std::int64_t slot[most_axes];
  std::int64_t value[most_axes];  // within a slice
  std::int64_t count;
};

// Nothing where positions cannot reach every one of `units` that are contiguous.
std::optional<Targets> targets_of(const IndexTask& task, std::int64_t units) {
  struct Axis {
    std::int64_t size;
    std::int64_t place;
    std::int64_t slot;
    std::int64_t value;
  };
  std::array<Axis, 2 * most_axes + 1> axes;
  std::size_t n = 0;
  const auto add = [&](const Axis& axis) {
    if (axis.size != 1) axes[n++] = axis;
  };
  for (int k = 0; k < task.indices; ++k) add({task.indexed_size[k], task.indexed_stride[k], task.indexed_slot[k], 0});
  for (int i = 0; i < task.positions.rank; ++i) {
    if (task.place[i] != 0) add({task.positions.size[i], task.place[i], task.slot[i], 0});
  }
  add({task.slice, 1, 0, 1});
  std::sort(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(n),
            [](const Axis& a, const Axis& b) { return a.place < b.place; });
  Targets targets{};
  Axis joined{1, 1, 0, 0};
  targets.count = 1;
  const auto push = [&] {
    if (joined.size == 1) return;
    targets.slot[targets.axes.rank] = joined.slot;
    targets.value[targets.axes.rank] = joined.value;
    targets.axes.push_back(joined.size);
  };
  for (std::size_t i = 0; i < n; ++i) {
    const Axis& axis = axes[i];
    if (axis.place != targets.count) return std::nullopt;
    targets.count *= axis.size;
    if (i > 0 && axis.slot == joined.size * joined.slot && axis.value == joined.size * joined.value) {
      joined.size *= axis.size;
      continue;
    }
    push();
    joined = axis;
  }
  push();
  if (targets.count != units || units >= Numbering::few) return std::nullopt;
  return targets;
}

// What no position wants is copied from x; without one it stays as it is.
template <class Unit>
__global__ void __launch_bounds__(index_threads)
    merge_units(const __grid_constant__ ScatterTask task, const __grid_constant__ Targets targets, const Unit* x,
                std::int64_t run) {
  using Index = std::uint32_t;
  const auto* const owner = static_cast<const unsigned*>(task.owner);
  const auto* const values = static_cast<const Unit*>(task.values);
  Unit* const out = static_cast<Unit*>(task.region);
  const std::int64_t begin = blockIdx.x * run;
  const auto end = static_cast<Index>(begin + run < targets.count ? begin + run : targets.count);
  for (Index first = static_cast<Index>(begin) + threadIdx.x; first < end; first += index_threads * positions_in_flight) {
    Index target[positions_in_flight];
    bool is_in[positions_in_flight];
    number_tile(first, end, target, is_in);
    std::int64_t slot[positions_in_flight] = {};
    std::int64_t value[positions_in_flight] = {};
    take_apart(targets.axes, target, [&](int u, int axis, std::int64_t here) {
      slot[u] += here * targets.slot[axis];
      value[u] += here * targets.value[axis];
    });
    unsigned owned[positions_in_flight];  // 1 + the position that writes it, or 0
#pragma unroll
    for (int u = 0; u < positions_in_flight; ++u) owned[u] = owner[slot[u]];
    Index position[positions_in_flight];
#pragma unroll
    for (int u = 0; u < positions_in_flight; ++u) {
      position[u] = owned[u] == 0 ? 0 : owned[u] - 1;
      if (owned[u] == 0 && x == nullptr) is_in[u] = false;
    }
    take_apart(task.space.positions, position,
               [&](int u, int axis, std::int64_t here) { value[u] += here * task.space.value[axis]; });
    Unit some[positions_in_flight];
#pragma unroll
    for (int u = 0; u < positions_in_flight; ++u) {
      if (is_in[u]) some[u] = *(owned[u] != 0 ? values + value[u] : x + target[u]);
    }
#pragma unroll
    for (int u = 0; u < positions_in_flight; ++u) {
      if (is_in[u]) out[target[u]] = some[u];
    }
  }
}

template <class Unit>
void launch_merge(const ScatterTask& task, const Targets& targets, const std::byte* x, Queue& queue, const KernelCall& call) {
  const Runs runs = deal_runs(targets.count, queue);
  launch<merge_units<Unit>>(queue, call, runs.grid, task, targets, reinterpret_cast<const Unit*>(x), runs.length);
}

bool have_same_strides(const Operand& a, const Operand& b) {
  for (std::size_t i = 0; i < a.rank; ++i) {
    if (a.axes[i].size != 1 && a.axes[i].stride != b.axes[i].stride) return false;
  }
  return true;
}

// Whether positions are those of rows that make up the output, `units` of it, each wanting elements of its own row; enough rows
// for the multiprocessors, and each work for a block, but not too much for one.
bool sets_rows(const IndexTask& task, std::int64_t units, const Queue& queue) {
  constexpr std::int64_t shortest = 128;
  constexpr std::int64_t many_positions = 8192;  // of a row
  if (task.indices != 1 || !task.is_small || task.slice != 1 || task.positions.rank != 2) return false;
  const std::int64_t rows = task.positions.size[1];
  const std::int64_t length = task.indexed_size[0];
  if (task.place[0] != 0 || task.place[1] != length || task.indexed_stride[0] != 1 || rows * length != units) return false;
  const std::int64_t multiprocessors = queue.properties().multiprocessors;
  const std::int64_t fewest_rows = task.positions.size[0] <= many_positions ? multiprocessors / 2 : 2 * multiprocessors;
  return length >= shortest && length <= longest_owned_row && rows >= fewest_rows;
}

template <class Unit>
void launch_rows(const ScatterTask& task, const Operand& x, const Operand& out, std::int64_t elements, Queue& queue,
                 const KernelCall& call) {
  const std::int64_t length = task.space.indexed_size[0];
  RowsOf<Unit> rows{x.as<const Unit>(), length, 1};
  const bool is_in_place = x.data == out.data;
  if (!is_in_place && !have_same_strides(x, out)) {
    const bool is_line = x.rank == 2 && elements == 1 && (x.axes[1].stride == 0 || x.axes[1].stride == 1);
    if (is_line) {
      rows.row = x.axes[0].stride;
      rows.column = x.axes[1].stride;
    } else {
      copy_operand(x, out, queue, call);
      rows.x = nullptr;
    }
  }
  if (is_in_place) rows.x = nullptr;
  const Grid grid{dim3(static_cast<unsigned>(task.space.positions.size[1])), dim3(owned_row_threads),
                  static_cast<unsigned>(length * sizeof(unsigned))};
  launch<set_rows<Unit>>(queue, call, grid, task, rows);
}

}  // namespace

bool set_in_rows(const ScatterTask& task, Queue& queue, const KernelCall& call) {
  const Operand& x = call.in(0);
  const Operand& out = call.out();
  if (!task.space.is_dense() || task.values == nullptr) return false;
  ScatterTask all = task;
  const auto size = static_cast<std::int64_t>(size_of(out.dtype));
  const std::int64_t unit = into_units(all.space, {x.data, task.region, task.values}, size);
  if (!sets_rows(all.space, out.count() * size / unit, queue)) return false;
  visit_unit(unit, [&]<class Unit>(Unit) { launch_rows<Unit>(all, x, out, unit / size, queue, call); });
  return true;
}

void find_owners(ScatterTask& task, const ScatterPlan& plan, std::byte* scratch, Queue& queue, const KernelCall& call) {
  check(cudaMemsetAsync(scratch, 0, static_cast<std::size_t>(plan.bytes), queue.stream()), "filling with zeros", call);
  task.owner = scratch;
  task.is_wide = plan.is_wide;
  const Runs runs = deal_runs(task.space.count, queue);
  if (task.space.is_small) {
    launch<claim_slots<std::uint32_t>>(queue, call, runs.grid, task.space, scratch, plan.is_wide, runs.length);
  } else {
    launch<claim_slots<std::uint64_t>>(queue, call, runs.grid, task.space, scratch, plan.is_wide, runs.length);
  }
}

bool merge_owned(const ScatterTask& task, Queue& queue, const KernelCall& call) {
  const Operand& x = call.in(0);
  const Operand& out = call.out();
  const bool is_sparse = task.space.count < task.space.slots / 8;
  if (is_sparse || task.is_wide || !task.space.is_small || !task.space.is_dense()) return false;
  ScatterTask all = task;
  const auto size = static_cast<std::int64_t>(size_of(out.dtype));
  const std::int64_t unit = into_units(all.space, {x.data, task.region, task.values}, size);
  const std::optional<Targets> targets = targets_of(all.space, out.count() * size / unit);
  if (!targets) return false;
  const bool is_in_place = x.data == out.data;
  const bool is_copied = !is_in_place && !have_same_strides(x, out);
  if (is_copied) copy_operand(x, out, queue, call);
  const std::byte* const from = is_in_place || is_copied ? nullptr : x.data;
  visit_unit(unit, [&]<class Unit>(Unit) { launch_merge<Unit>(all, *targets, from, queue, call); });
  return true;
}

}  // namespace tutti::kernels::cuda
