#include <algorithm>
#include <array>

#include "tutti/exec/attributes.h"
#include "tutti/exec/indexing_attributes.h"
#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/gather_rows.cuh"
#include "tutti/kernels/cuda/index_task.cuh"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/stored.cuh"

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

template <class T>
struct alignas(sizeof(T) < 4 ? 4 * sizeof(T) : 16) Four {
  T item[4];
};

// Units whose indices and results are contiguous: a thread has four of them, and finds out once where they are.
template <class Unit, class Given>
__global__ void __launch_bounds__(index_threads) gather_fours(const __grid_constant__ IndexTask task, const Unit* x, Unit* out) {
  constexpr int in_flight = 2;
  std::uint32_t first[in_flight];
  bool is_in[in_flight];
#pragma unroll
  for (int u = 0; u < in_flight; ++u) {
    const std::int64_t at = 4 * ((static_cast<std::int64_t>(blockIdx.x) * in_flight + u) * index_threads + threadIdx.x);
    is_in[u] = at < task.count;
    first[u] = is_in[u] ? static_cast<std::uint32_t>(at) : 0;
  }
  std::int64_t from[in_flight] = {};
  std::int64_t to[in_flight] = {};
  std::int64_t index[in_flight] = {};
  take_apart(task.positions, first, [&](int u, int axis, std::int64_t here) {
    from[u] += here * task.place[axis];
    to[u] += here * task.value[axis];
    index[u] += here * task.index[0][axis];
  });
  Four<Given> given[in_flight];
#pragma unroll
  for (int u = 0; u < in_flight; ++u)
    given[u] = *reinterpret_cast<const Four<Given>*>(static_cast<const Given*>(task.from[0]) + index[u]);
  const std::int64_t size = task.indexed_size[0];
  Four<Unit> some[in_flight];
  bool is_whole[in_flight];
#pragma unroll
  for (int u = 0; u < in_flight; ++u) {
    is_whole[u] = is_in[u];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::int64_t at = given[u].item[i];
      const bool fits = at >= -size && at < size;
      is_whole[u] = is_whole[u] && fits;
      if (is_in[u] && fits) some[u].item[i] = x[from[u] + i * task.place[0] + (at < 0 ? at + size : at) * task.indexed_stride[0]];
    }
  }
#pragma unroll
  for (int u = 0; u < in_flight; ++u) {
    if (is_whole[u]) {
      *reinterpret_cast<Four<Unit>*>(out + to[u]) = some[u];
    } else if (is_in[u]) {  // one of them is out of range: what is left of the others does not matter
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::int64_t at = given[u].item[i];
        if (at < -size || at >= size) note(task.trap, static_cast<unsigned>(task.name[0]) + 1, at, size);
      }
    }
  }
}

// Whether they lie so, from multiples of four on.
template <class Unit>
bool fits_fours(const IndexTask& task, const Unit* out) {
  const auto is_aligned = [](const void* address, std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
  };
  if (task.indices != 1 || !task.is_small || task.positions.rank == 0 || task.positions.size[0] % 4 != 0) return false;
  if (task.index[0][0] != 1 || task.value[0] != 1) return false;
  for (int i = 1; i < task.positions.rank; ++i) {
    if (task.index[0][i] % 4 != 0 || task.value[i] % 4 != 0) return false;
  }
  return is_aligned(task.from[0], alignof(Four<std::int64_t>)) && is_aligned(out, alignof(Four<Unit>));
}

template <class Unit>
void launch_fours(const IndexTask& task, const Unit* x, Unit* out, Queue& queue, const KernelCall& call) {
  constexpr std::int64_t at_once = 4 * 2 * index_threads;
  const Grid grid{dim3(static_cast<unsigned>((task.count + at_once - 1) / at_once)), dim3(index_threads)};
  if (task.wide != 0) return launch<gather_fours<Unit, std::int64_t>>(queue, call, grid, task, x, out);
  launch<gather_fours<Unit, std::int32_t>>(queue, call, grid, task, x, out);
}

template <class Unit, int elements>
void launch_from_rows(const IndexTask& task, const Unit* x, Unit* out, Queue& queue, const KernelCall& call) {
  constexpr std::int64_t most_rows = 8;             // of a block, or as many as it has at once
  constexpr std::int64_t enough_bytes = 32 * 1024;  // of rows that are there at once; several blocks of such are
  const std::int64_t row = task.indexed_size[0] * static_cast<std::int64_t>(sizeof(Unit));
  const std::int64_t taken = task.positions.size[0];
  const std::int64_t rows = task.count / taken;
  const std::int64_t share = std::max<std::int64_t>(1, rows / (16 * queue.properties().multiprocessors));
  const std::int64_t at_once = std::clamp<std::int64_t>(enough_bytes / row, 1, share);
  const std::int64_t rows_of_block = std::min(share, most_rows * at_once);
  constexpr std::int64_t of_block = std::int64_t{row_threads} * elements;
  const Grid grid{dim3(static_cast<unsigned>((rows + rows_of_block - 1) / rows_of_block),
                       static_cast<unsigned>((taken + of_block - 1) / of_block)),
                  dim3(row_threads), static_cast<unsigned>(at_once * row)};
  launch<gather_from_rows<Unit, elements>>(queue, call, grid, task, x, out, static_cast<std::uint32_t>(rows),
                                           static_cast<std::uint32_t>(rows_of_block), static_cast<std::uint32_t>(at_once));
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
  if constexpr (sizeof(Unit) < pack_bytes) {
    if (picks_from_rows(task, x, out)) {
      constexpr int few = 16;
      if (task.positions.size[0] <= few * row_threads) return launch_from_rows<Unit, few>(task, x, out, queue, call);
      return launch_from_rows<Unit, 2 * few>(task, x, out, queue, call);
    }
  }
  if (task.count > 0 && fits_fours(task, out)) return launch_fours(task, x, out, queue, call);
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
  visit_unit(unit, [&]<class Unit>(Unit) { launch_gather<Unit>(task, queue, call); });
}

void check_inputs(const KernelCall& call) {
  for (std::size_t i = 0; i < call.inputs; ++i) (void)device_input(call, i);
}

// Slices whose elements are far apart cost a sector for each: where about all of a large operand is taken, it is copied to
// row-major order first. `results`: how many elements are wanted.
std::int64_t copied_bytes(const Operand& x, std::size_t axis, std::int64_t results) {
  constexpr std::int64_t fewest = std::int64_t{1} << 20;
  constexpr std::int64_t most_bytes = std::int64_t{1} << 30;
  constexpr std::int64_t shortest_slice = 64;
  const std::int64_t count = x.count();
  const std::int64_t bytes = count * static_cast<std::int64_t>(size_of(x.dtype));
  if (axis + 1 >= x.rank || count <= fewest || bytes > most_bytes || results < count / 2) return 0;
  std::int64_t slice = 1;
  for (std::size_t i = axis + 1; i < x.rank; ++i) slice *= x.axes[i].size;
  const std::int64_t step = x.axes[x.rank - 1U].stride;
  return slice >= shortest_slice && (step > 1 || step < -1) ? bytes : 0;
}

}  // namespace

static std::int64_t take_bytes(const WorkspaceCall& call) {
  const auto axis = static_cast<std::size_t>(call.attributes().as<TakeAttributes>().axis);
  return copied_bytes(call.input(0), axis, call.output_elements());
}

static void take(const KernelCall& call, KernelContext& context) {
  check_inputs(call);
  const std::int32_t axis = call.attributes->as<TakeAttributes>().axis;
  const std::array names{static_cast<std::int8_t>(axis)};
  if (copied_bytes(call.in(0), static_cast<std::size_t>(axis), call.out().count()) == 0)
    return gather(gather_space(call, static_cast<std::size_t>(axis), names), call, context);
  const std::array operands{copied_in_row_order(call.in(0), call.scratch().data, queue_of(context), call), call.in(1),
                            call.out()};
  KernelCall of_copy = call;
  of_copy.operands = operands.data();
  gather(gather_space(of_copy, static_cast<std::size_t>(axis), names), of_copy, context);
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

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("GatherV2", take, workspace<take_bytes>) &&
                                                   register_cuda_kernel("GatherNd", gather_nd) &&
                                                   register_cuda_kernel("TakeAlongAxis", take_along_axis);

}  // namespace tutti::kernels::cuda
