#include <algorithm>
#include <bit>

#include "tutti/exec/manipulation_attributes.h"
#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/registration.h"

// The output is a number of lines, of which each input has one piece. Inputs that are dense go together in one launch, a few
// of a small output however they lie.
namespace tutti::kernels::cuda {

namespace {

constexpr int threads = 256;
constexpr int units_per_thread = 8;  // wanted at least before more blocks share an input
constexpr int most_pieces = 64;
constexpr int most_strided = 8;
constexpr std::int64_t small_count = std::int64_t{1} << 21;

// Sizes are in units: as many bytes as are moved at once.
struct Piece {
  const void* from;
  std::int64_t length;  // of one line
  std::int64_t offset;  // in the output's line
};
struct JoinTask {
  void* out;
  std::int64_t lines;
  std::int64_t line;  // of the output
  Piece pieces[most_pieces];
};

template <class Unit, class Index>
__global__ void __launch_bounds__(threads) join_kernel(const __grid_constant__ JoinTask task) {
  const Piece& piece = task.pieces[blockIdx.y];
  const auto length = static_cast<Index>(piece.length);
  const auto count = static_cast<Index>(piece.length * task.lines);
  const auto* from = static_cast<const Unit*>(piece.from);
  Unit* out = static_cast<Unit*>(task.out) + piece.offset;
  const Index step = static_cast<Index>(gridDim.x) * threads;
  if (task.lines == 1) {
#pragma unroll 4
    for (Index i = static_cast<Index>(blockIdx.x) * threads + threadIdx.x; i < count; i += step) out[i] = from[i];
    return;
  }
#pragma unroll 4
  for (Index i = static_cast<Index>(blockIdx.x) * threads + threadIdx.x; i < count; i += step) {
    const Index at = i / length;
    out[static_cast<std::int64_t>(at) * task.line + (i - at * length)] = from[i];
  }
}

template <class Unit>
void launch_join(const JoinTask& task, int pieces, Queue& queue, const KernelCall& call) {
  std::int64_t longest = 0;
  for (int i = 0; i < pieces; ++i) longest = std::max(longest, task.pieces[i].length * task.lines);
  const std::int64_t enough = std::int64_t{32} * queue.properties().multiprocessors;
  const std::int64_t wanted = (longest + threads * units_per_thread - 1) / (threads * units_per_thread);
  const Grid grid{dim3(static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, enough)), static_cast<unsigned>(pieces)),
                  threads};
  // The number of the next step must fit as well.
  if (longest < std::int64_t{1} << 30) {
    launch<join_kernel<Unit, std::uint32_t>>(queue, call, grid, task);
  } else {
    launch<join_kernel<Unit, std::uint64_t>>(queue, call, grid, task);
  }
}

// Pieces in bytes: in the largest power of two, up to 16, that everything is a multiple of.
void join(JoinTask& task, int pieces, Queue& queue, const KernelCall& call) {
  if (pieces == 0) return;
  auto bits = std::uint64_t{16} | reinterpret_cast<std::uintptr_t>(task.out) | static_cast<std::uint64_t>(task.line);
  for (int i = 0; i < pieces; ++i) {
    const Piece& piece = task.pieces[i];
    bits |= reinterpret_cast<std::uintptr_t>(piece.from) | static_cast<std::uint64_t>(piece.length | piece.offset);
  }
  const std::int64_t unit = std::int64_t{1} << std::countr_zero(bits);
  JoinTask in_units = task;
  in_units.line /= unit;
  for (int i = 0; i < pieces; ++i) {
    in_units.pieces[i].length /= unit;
    in_units.pieces[i].offset /= unit;
  }
  visit_unit(unit, [&]<class Unit>(Unit) { launch_join<Unit>(in_units, pieces, queue, call); });
}

// A copy each, in one launch.
template <class U>
struct Copies {
  std::uint32_t blocks[most_strided];
  Tiling tiling[most_strided];
  Layout<std::uint32_t, 2> layout[most_strided];
  U* to[most_strided];
  Source<U> from[most_strided];
};

template <class U>
__global__ void __launch_bounds__(tile_threads) copies_kernel(const __grid_constant__ Copies<U> copies) {
  const unsigned i = blockIdx.y;
  if (blockIdx.x >= copies.blocks[i]) return;
  run_strided<1, Same, U, U>(Same{}, copies.to[i], copies.layout[i], copies.tiling[i], std::index_sequence<0>{}, copies.from[i]);
}

// Calls copy(input, its part of the output) for every input.
template <class Copy>
void for_each_part(const KernelCall& call, std::size_t axis, Copy&& copy) {
  Operand part = call.out();
  auto step = static_cast<std::int64_t>(size_of(part.dtype));  // along the axis, in bytes
  for (std::size_t i = axis + 1; i < part.rank; ++i) step *= part.axes[i].size;
  for (std::size_t i = 0; i < call.inputs; ++i) {
    const Operand& in = device_input(call, i);
    part.axes[axis].size = in.axes[axis].size;
    copy(in, part);
    part.data += in.axes[axis].size * step;
  }
}

template <class U>
void join_strided(const KernelCall& call, std::size_t axis, Queue& queue) {
  constexpr int unroll = strided_unroll<1>;
  constexpr std::int64_t at_a_time = tile_threads * unroll;
  Copies<U> copies{};
  unsigned n = 0;
  unsigned most_blocks = 0;
  for_each_part(call, axis, [&](const Operand& in, const Operand& part) {
    if (in.count() == 0) return;
    const std::array operands{&part, &in};
    Axes axes = collapse(operands);
    if (!axes.fits_32_bits()) return copy_operand(in, part, queue, call);
    const bool is_turned = bring_forward_turned(axes);
    copies.tiling[n] = is_turned ? tiles_of(axes, tile_columns<1>, tile_rows<1> * unroll) : Tiling{};
    copies.blocks[n] = is_turned ? copies.tiling[n].blocks : static_cast<unsigned>((axes.count() + at_a_time - 1) / at_a_time);
    copies.layout[n] = Layout<std::uint32_t, 2>(axes);
    copies.to[n] = part.as<U>();
    copies.from[n] = source_of<U>(in, false);
    most_blocks = std::max(most_blocks, copies.blocks[n++]);
  });
  if (n == 0) return;
  launch<copies_kernel<U>>(queue, call, {.blocks = dim3(most_blocks, n), .threads = dim3(tile_threads)}, copies);
}

// A few inputs, not all of them dense, of which packs would gain less than a launch each costs.
bool is_small_and_strided(const KernelCall& call) {
  if (call.inputs > most_strided || call.out().count() > small_count) return false;
  for (std::size_t i = 0; i < call.inputs; ++i) {
    if (!call.in(i).is_dense()) return true;
  }
  return false;
}

}  // namespace

static void concat(const KernelCall& call, KernelContext& context) {
  const Operand& out = call.out();
  Queue& queue = queue_of(context);
  if (out.count() == 0) return;
  const auto axis = static_cast<std::size_t>(call.attributes->as<ConcatAttributes>().axis);
  const auto size = static_cast<std::int64_t>(size_of(out.dtype));
  if (is_small_and_strided(call)) return visit_size(size_of(out.dtype), [&]<class U>(U) { join_strided<U>(call, axis, queue); });
  JoinTask task{};
  task.out = out.data;
  task.lines = 1;
  for (std::size_t i = 0; i < axis; ++i) task.lines *= out.axes[i].size;
  task.line = out.count() / task.lines * size;
  int pieces = 0;
  for_each_part(call, axis, [&](const Operand& in, const Operand& part) {
    if (in.count() == 0) return;
    if (!in.is_dense()) return copy_operand(in, part, queue, call);
    task.pieces[pieces++] = {in.data, in.count() / task.lines * size, part.data - out.data};
    if (pieces < most_pieces) return;
    join(task, pieces, queue, call);
    pieces = 0;
  });
  join(task, pieces, queue, call);
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("ConcatV2", concat);

}  // namespace tutti::kernels::cuda
