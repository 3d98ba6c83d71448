#include "tutti/kernels/cuda/copy.h"

#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

struct Same {
  template <class U>
  __device__ __forceinline__ U operator()(U x) const {
    return x;
  }
};

// Calls use(U{}) with the unsigned integer as wide as an element.
template <class Use>
void with_size(std::int64_t bytes, Use&& use) {
  switch (bytes) {
    case 1: return use(std::uint8_t{});
    case 2: return use(std::uint16_t{});
    case 4: return use(std::uint32_t{});
    default: return use(std::uint64_t{});
  }
}

// Rows of the target lie along `column`, rows of the source along `row`; the rest is done one matrix after the other.
struct Transposition {
  struct Outer {
    std::int64_t size;
    std::int64_t to;
    std::int64_t from;
  };
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t to_step;    // from one row to the next in the target
  std::int64_t from_step;  // from one column to the next in the source
  std::uint32_t tiles_across;
  std::uint32_t tiles_down;
  std::uint32_t rank;
  Outer outer[most_axes];
};

// Squares of 32 or more elements a side, so that both sides move at least 64 bytes at a time.
template <class U>
inline constexpr int tile_side = sizeof(U) < 4 ? 64 : 32;
inline constexpr int tile_threads = 256;

// One tile a block: rows of the source go into shared memory, columns of that into rows of the target.
template <class U>
__global__ void transpose_kernel(U* to, const U* from, Transposition t) {
  constexpr int side = tile_side<U>;
  // A column's elements then lie in different banks.
  constexpr int padding = sizeof(U) < 4 ? 4 / static_cast<int>(sizeof(U)) : 1;
  __shared__ U tile[side][side + padding];
  std::uint32_t rest = blockIdx.x;
  const std::int64_t column = static_cast<std::int64_t>(rest % t.tiles_across) * side;
  rest /= t.tiles_across;
  const std::int64_t row = static_cast<std::int64_t>(rest % t.tiles_down) * side;
  rest /= t.tiles_down;
  for (std::uint32_t i = 0; i < t.rank; ++i) {
    const auto size = static_cast<std::uint32_t>(t.outer[i].size);
    to += static_cast<std::int64_t>(rest % size) * t.outer[i].to;
    from += static_cast<std::int64_t>(rest % size) * t.outer[i].from;
    rest /= size;
  }
  const int lane = static_cast<int>(threadIdx.x) % side;
  const int first = static_cast<int>(threadIdx.x) / side;
  constexpr int step = tile_threads / side;
  constexpr int per_thread = side / step;
  U held[per_thread];
#pragma unroll
  for (int i = 0; i < per_thread; ++i) {
    const std::int64_t c = column + first + i * step;
    if (row + lane < t.rows && c < t.columns) held[i] = from[c * t.from_step + row + lane];
  }
#pragma unroll
  for (int i = 0; i < per_thread; ++i) tile[first + i * step][lane] = held[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < per_thread; ++i) {
    const std::int64_t r = row + first + i * step;
    if (column + lane < t.columns && r < t.rows) to[r * t.to_step + column + lane] = tile[lane][first + i * step];
  }
}

// The target's rows lie along axis 0 and the source's along another one. Operand 0 is the target.
template <class U>
bool launch_transposed(const Axes& axes, Queue& queue, const KernelCall& call) {
  constexpr std::int64_t fewest = 8;  // shorter rows would leave most of a tile empty
  if (axes.rank < 2 || axes.stride[0][0] != 1 || axes.stride[0][1] == 0 || axes.size[0] < fewest) return false;
  std::size_t along = 1;
  while (along < axes.rank && axes.stride[along][1] != 1) ++along;
  if (along == axes.rank || axes.size[along] < fewest) return false;
  constexpr std::int64_t side = tile_side<U>;
  Transposition t{};
  t.columns = axes.size[0];
  t.rows = axes.size[along];
  t.to_step = axes.stride[along][0];
  t.from_step = axes.stride[0][1];
  const std::int64_t across = (t.columns + side - 1) / side;
  const std::int64_t down = (t.rows + side - 1) / side;
  std::int64_t blocks = across * down;
  for (std::size_t i = 1; i < axes.rank; ++i) {
    if (i == along) continue;
    t.outer[t.rank++] = {axes.size[i], axes.stride[i][0], axes.stride[i][1]};
    blocks *= axes.size[i];
  }
  if (blocks > std::numeric_limits<std::int32_t>::max()) return false;
  t.tiles_across = static_cast<std::uint32_t>(across);
  t.tiles_down = static_cast<std::uint32_t>(down);
  launch<transpose_kernel<U>>(queue, call, {.blocks = dim3(static_cast<unsigned>(blocks)), .threads = dim3(tile_threads)},
                              reinterpret_cast<U*>(axes.data[0]), reinterpret_cast<const U*>(axes.data[1]), t);
  return true;
}

template <int width, class Index, class U>
void launch_strided_copy(const Axes& axes, const Source<U>& source, Queue& queue, const KernelCall& call) {
  launch<strided_kernel<width, Index, Same, U, U>>(queue, call, grid_for(axes.count(), strided_unroll<width>, queue), Same{},
                                                   reinterpret_cast<U*>(axes.data[0]), Layout<Index, 2>(axes), source);
}

template <class U>
void copy_strided(Axes axes, Source<U> source, Queue& queue, const KernelCall& call) {
  if (source.data != nullptr && launch_transposed<U>(axes, queue, call)) return;
  if (!axes.fits_32_bits()) return launch_strided_copy<1, std::uint64_t>(axes, source, queue, call);
  if (const auto repeated = into_packs(axes, pack_width<U>)) {
    source.is_repeated = (*repeated & 2U) != 0;
    return launch_strided_copy<pack_width<U>, std::uint32_t>(axes, source, queue, call);
  }
  launch_strided_copy<1, std::uint32_t>(axes, source, queue, call);
}

}  // namespace

void copy_operand(const Operand& from, const Operand& to, Queue& queue, const KernelCall& call) {
  const std::int64_t count = to.count();
  if (count == 0) return;
  const auto size = static_cast<std::int64_t>(size_of(to.dtype));
  const bool is_fill = from.is_immediate || (count > 1 && from.is_single());
  if (!is_fill && from.is_dense() && to.is_dense()) {
    if (from.data == to.data) return;
    check(cudaMemcpyAsync(to.data, from.data, static_cast<std::size_t>(count * size), cudaMemcpyDefault, queue.stream()), "copy",
          call);
    return;
  }
  const std::array operands{&to, &from};
  Axes axes = collapse(operands);
  if (!is_fill && axes.is_dense(0) && axes.is_dense(1)) {  // both in the same order, only not in row order
    check(cudaMemcpyAsync(to.data, from.data, static_cast<std::size_t>(count * size), cudaMemcpyDefault, queue.stream()), "copy",
          call);
    return;
  }
  if (!is_fill) enlarge_elements(axes);
  with_size(axes.element_bytes[0], [&]<class U>(U) {
    const Source<U> source = source_of<U>(from, is_fill);
    constexpr int width = pack_width<U>;
    if (is_fill && axes.is_dense(0) && is_aligned(to, pack_bytes)) {
      launch<dense_kernel<Same, U, U>>(queue, call, grid_for((count + width - 1) / width, dense_unroll<U>, queue), Same{},
                                       to.as<U>(), count, source);
      return;
    }
    copy_strided<U>(axes, source, queue, call);
  });
}

static void copy(const KernelCall& call, KernelContext& context) {
  copy_operand(call.in(0), call.out(), queue_of(context), call);
}

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("_Copy", copy) && register_cuda_kernel("_EagerConst", copy) && register_cuda_kernel("Fill", copy);

}  // namespace tutti::kernels::cuda
