#include <algorithm>
#include <bit>

#include "tutti/exec/manipulation_attributes.h"
#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"

// The output is a number of lines, of which each input has one piece. Inputs that lie dense go together in one launch.
namespace tutti::kernels::cuda {

namespace {

constexpr int threads = 256;
constexpr int units_per_thread = 8;  // wanted at least before more blocks share an input
constexpr int most_pieces = 64;

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
  switch (unit) {
    case 1: return launch_join<std::uint8_t>(in_units, pieces, queue, call);
    case 2: return launch_join<std::uint16_t>(in_units, pieces, queue, call);
    case 4: return launch_join<std::uint32_t>(in_units, pieces, queue, call);
    case 8: return launch_join<std::uint64_t>(in_units, pieces, queue, call);
    default: return launch_join<uint4>(in_units, pieces, queue, call);
  }
}

}  // namespace

static void concat(const KernelCall& call, KernelContext& context) {
  const Operand& out = call.out();
  Queue& queue = queue_of(context);
  if (out.count() == 0) return;
  const auto axis = static_cast<std::size_t>(call.attributes->as<ConcatAttributes>().axis);
  const auto size = static_cast<std::int64_t>(size_of(out.dtype));
  JoinTask task{};
  task.out = out.data;
  task.lines = 1;
  for (std::size_t i = 0; i < axis; ++i) task.lines *= out.axes[i].size;
  task.line = out.count() / task.lines * size;
  const std::int64_t step = task.line / out.axes[axis].size;  // along the axis, in bytes
  Operand part = out;
  std::int64_t offset = 0;
  int pieces = 0;
  for (std::size_t i = 0; i < call.inputs; ++i) {
    const Operand& in = device_input(call, i);
    const std::int64_t length = in.axes[axis].size * step;
    part.data = out.data + offset;
    part.axes[axis].size = in.axes[axis].size;
    if (!in.is_dense()) {
      copy_operand(in, part, queue, call);
    } else if (length > 0) {
      task.pieces[pieces++] = {in.data, length, offset};
      if (pieces == most_pieces) {
        join(task, pieces, queue, call);
        pieces = 0;
      }
    }
    offset += length;
  }
  join(task, pieces, queue, call);
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("ConcatV2", concat);

}  // namespace tutti::kernels::cuda
