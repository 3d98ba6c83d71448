#include <algorithm>
#include <bit>

#include "tutti/exec/attributes.h"
#include "tutti/exec/index_message.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/launch.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/row_axes.cuh"
#include "tutti/kernels/cuda/trap.cuh"

namespace tutti::kernels::cuda {

namespace {

using tutti::cuda::Trap;

constexpr int threads = 256;
constexpr int units_per_thread = 4;  // of a slice, wanted at least before more threads share it

// The output is outer x indices x inner, dense, where x is outer x size x inner. Strides and counts are in units: as many
// bytes as are moved at once.
struct TakeTask {
  const void* x;
  void* out;
  const void* indices;
  Trap* trap;
  std::int64_t slices;  // outer x indices
  std::int64_t n_indices;
  std::int64_t slice;  // units in one
  std::int64_t chunk;  // units of a slice that one group of threads moves
  std::int64_t along_size;
  std::int64_t along_stride;
  int axis;
  int lanes;  // threads in a group, a power of two
  bool has_outer;
  bool has_wide_indices;
  bool is_dense;  // a slice of x
  RowAxes outer;
  RowAxes inner;
  RowAxes index;
};

template <class Unit>
__global__ void __launch_bounds__(threads) take_slices(const __grid_constant__ TakeTask task) {
  const int lane = static_cast<int>(threadIdx.x) & (task.lanes - 1);
  const int per_block = threads / task.lanes;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * per_block;
  const std::int64_t begin = blockIdx.y * task.chunk;
  const std::int64_t end = begin + task.chunk < task.slice ? begin + task.chunk : task.slice;
  for (std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * per_block + static_cast<int>(threadIdx.x) / task.lanes;
       at < task.slices; at += step) {
    const std::int64_t outer = task.has_outer ? at / task.n_indices : 0;
    const std::int64_t place = offset_of(task.index, at - outer * task.n_indices);
    const std::int64_t given = task.has_wide_indices ? static_cast<const std::int64_t*>(task.indices)[place]
                                                     : static_cast<const std::int32_t*>(task.indices)[place];
    if (given < -task.along_size || given >= task.along_size) {
      if (lane == 0) note(task.trap, static_cast<unsigned>(task.axis) + 1, given, task.along_size);
      continue;
    }
    const std::int64_t index = given < 0 ? given + task.along_size : given;
    const Unit* from =
        static_cast<const Unit*>(task.x) + (task.has_outer ? offset_of(task.outer, outer) : 0) + index * task.along_stride;
    Unit* to = static_cast<Unit*>(task.out) + at * task.slice;
    if (task.is_dense) {
#pragma unroll 4
      for (std::int64_t i = begin + lane; i < end; i += task.lanes) to[i] = from[i];
    } else {
      for (std::int64_t i = begin + lane; i < end; i += task.lanes) to[i] = from[offset_of(task.inner, i)];
    }
  }
}

std::string describe_index(const Trap& trap) {
  return index_out_of_range(trap.first, static_cast<std::int64_t>(trap.code) - 1, trap.second);
}

// The largest power of two, up to 16 bytes, that every slice of both sides begins at and is a multiple of.
std::int64_t unit_bytes(const TakeTask& task, std::int64_t element) {
  auto bits = std::uint64_t{16} | reinterpret_cast<std::uintptr_t>(task.x) | reinterpret_cast<std::uintptr_t>(task.out);
  const auto add = [&](std::int64_t elements) { bits |= static_cast<std::uint64_t>(elements * element); };
  add(task.slice);
  add(task.along_stride);
  for (int i = 0; i < task.outer.rank; ++i) add(task.outer.stride[i]);
  return std::int64_t{1} << std::countr_zero(bits);
}

void in_units(TakeTask& task, std::int64_t elements) {
  task.slice /= elements;
  task.along_stride /= elements;
  for (int i = 0; i < task.outer.rank; ++i) task.outer.stride[i] /= elements;
}

}  // namespace

static void take(const KernelCall& call, KernelContext& context) {
  const Operand& x = device_input(call, 0);
  const Operand& indices = device_input(call, 1);
  Queue& queue = queue_of(context);
  const auto axis = static_cast<std::size_t>(call.attributes->as<TakeAttributes>().axis);
  const std::int64_t n_indices = indices.count();
  if (n_indices == 0) return;
  TakeTask task{};
  task.x = x.data;
  task.out = call.out().data;
  task.indices = indices.data;
  task.n_indices = n_indices;
  task.axis = static_cast<int>(axis);
  task.along_size = x.axes[axis].size;
  task.along_stride = x.axes[axis].stride;
  task.has_wide_indices = indices.dtype == DType::i64;
  task.outer = row_axes(x, 0, axis);
  task.inner = row_axes(x, axis + 1, x.rank);
  task.index = row_axes(indices, 0, indices.rank);
  task.is_dense = task.inner.is_dense();
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= x.axes[i].size;
  task.slice = 1;
  for (std::size_t i = axis + 1; i < x.rank; ++i) task.slice *= x.axes[i].size;
  if (outer == 0 || task.slice == 0) {  // nothing to move, but the indices are judged all the same
    outer = 1;
    task.slice = 0;
  }
  task.has_outer = outer > 1;
  task.slices = outer * n_indices;
  auto unit = static_cast<std::int64_t>(size_of(x.dtype));
  if (task.is_dense && task.slice > 0) {
    const std::int64_t larger = unit_bytes(task, unit);
    in_units(task, larger / unit);
    unit = larger;
  }
  // Enough threads per slice to move it in a few rounds, then more blocks per slice while there are few slices.
  const std::int64_t wanted = std::clamp<std::int64_t>((task.slice + units_per_thread - 1) / units_per_thread, 1, threads);
  task.lanes = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(wanted)));
  const std::int64_t blocks = (task.slices + threads / task.lanes - 1) / (threads / task.lanes);
  const std::int64_t enough = std::int64_t{16} * queue.properties().multiprocessors;
  const std::int64_t most_chunks = std::max<std::int64_t>(1, task.slice / (threads * units_per_thread));
  std::int64_t chunks =
      std::clamp<std::int64_t>(enough / std::max<std::int64_t>(1, blocks), 1, std::min<std::int64_t>(most_chunks, 65535));
  task.chunk = std::max<std::int64_t>(1, (task.slice + chunks - 1) / chunks);
  chunks = std::max<std::int64_t>(1, (task.slice + task.chunk - 1) / task.chunk);
  task.trap = queue.arm_trap(describe_index);
  const Grid grid{dim3(static_cast<unsigned>(std::min<std::int64_t>(blocks, 1 << 30)), static_cast<unsigned>(chunks)), threads};
  switch (unit) {
    case 1: return launch<take_slices<std::uint8_t>>(queue, call, grid, task);
    case 2: return launch<take_slices<std::uint16_t>>(queue, call, grid, task);
    case 4: return launch<take_slices<std::uint32_t>>(queue, call, grid, task);
    case 8: return launch<take_slices<std::uint64_t>>(queue, call, grid, task);
    default: return launch<take_slices<uint4>>(queue, call, grid, task);
  }
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("GatherV2", take);

}  // namespace tutti::kernels::cuda
