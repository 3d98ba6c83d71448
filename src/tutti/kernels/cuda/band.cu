#include <algorithm>

#include "tutti/exec/manipulation_attributes.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/row_axes.cuh"

namespace tutti::kernels::cuda {

namespace {

// Columns and counts are in packs; low and high in elements.
template <class Index>
struct BandTask {
  const void* x;
  void* out;
  Index count;
  Divisor<Index> columns;
  Divisor<Index> rows;
  std::int64_t low;
  std::int64_t high;
  OperandLayout layout;
  RowAxes axes;  // of x, where it lies neither dense nor in one element
};

// `above` the diagonal is the pack's first element.
template <class U, int width>
__device__ __forceinline__ void clear_outside(Pack<U, width>& pack, std::int64_t above, std::int64_t low, std::int64_t high) {
#pragma unroll
  for (int i = 0; i < width; ++i) {
    if (above + i < low || above + i > high) pack.lane[i] = U{0};
  }
}

// A thread has packs a block's width apart. What is outside the band is not read.
template <class U, int width, class Index>
__global__ void band_kernel(const __grid_constant__ BandTask<Index> task) {
  using Packed = Pack<U, width>;
  constexpr int per_thread = 4;
  const std::uint64_t start = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x * per_thread + threadIdx.x;
#pragma unroll
  for (int u = 0; u < per_thread; ++u) {
    const std::uint64_t wide = start + static_cast<std::uint64_t>(u) * blockDim.x;
    if (wide >= task.count) return;
    const auto at = static_cast<Index>(wide);
    const Index line = task.columns.quotient(at);
    const auto column = static_cast<std::int64_t>(at - line * task.columns.divisor()) * width;
    const auto row = static_cast<std::int64_t>(line - task.rows.quotient(line) * task.rows.divisor());
    const std::int64_t above = column - row;  // of the pack's first element
    Packed pack = repeat<U, width>(U{0});
    if (above + width > task.low && above <= task.high) {
      if (task.layout == OperandLayout::dense) {
        pack = static_cast<const Packed*>(task.x)[at];
      } else {
        const std::int64_t place = task.layout == OperandLayout::single ? 0 : offset_of(task.axes, static_cast<std::int64_t>(at));
        pack = repeat<U, width>(static_cast<const U*>(task.x)[place]);
      }
      clear_outside(pack, above, task.low, task.high);
    }
    static_cast<Packed*>(task.out)[at] = pack;
  }
}

// The same of an input that lies otherwise, visited as that of an element-wise op; below 2^31 elements. `columns` and `rows` are
// in elements, and so is where an element of the output lies.
template <class U, int width>
__global__ void strided_band_kernel(U* out, Divisor<std::uint32_t> columns, Divisor<std::uint32_t> rows, std::int64_t low,
                                    std::int64_t high, Layout<std::uint32_t, 2> layout, Tiling tiling, Source<U> in) {
  constexpr int unroll = strided_unroll<width>;
  std::int32_t at[unroll][2];
  bool is_in[unroll];
  if (tiling.is_used) {
    locate_in_tile<width>(tiling, layout, at, is_in);
  } else {
    const std::uint32_t first = blockIdx.x * blockDim.x * unroll + threadIdx.x;
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      is_in[u] = first + u * blockDim.x < layout.count;
      layout.locate(is_in[u] ? first + u * blockDim.x : 0, at[u]);
    }
  }
  std::int64_t above[unroll];
  bool is_read[unroll];
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    const auto place = static_cast<std::uint32_t>(at[u][0]);
    const std::uint32_t line = columns.quotient(place);
    const std::uint32_t row = line - rows.quotient(line) * rows.divisor();
    above[u] = static_cast<std::int64_t>(place - line * columns.divisor()) - row;
    is_read[u] = is_in[u] && above[u] + width > low && above[u] <= high;
  }
  const Batch<U, width, unroll> batch = load_strided<true, width, unroll>(in, 1, at, is_read);
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (!is_in[u]) continue;
    auto pack = repeat<U, width>(U{0});
    if (is_read[u]) {
      pack = std::bit_cast<Pack<U, width>>(batch.pack[u]);
      clear_outside(pack, above[u], low, high);
    }
    *reinterpret_cast<Loaded<U, width>*>(out + at[u][0]) = held(pack);
  }
}

template <class U, int width>
void launch_strided_band(const Axes& axes, bool is_turned, const Operand& x, const KernelCall& call, Queue& queue) {
  constexpr int unroll = strided_unroll<width>;
  const Operand& out = call.out();
  const auto band = call.attributes->as<BandAttributes>();
  const std::int64_t rows = out.axes[out.rank - 2U].size;
  const std::int64_t columns = out.axes[out.rank - 1U].size;
  const Tiling tiling = is_turned ? tiles_of(axes, tile_columns<width>, tile_rows<width> * unroll) : Tiling{};
  const Grid grid = is_turned ? Grid{dim3(tiling.blocks), dim3(tile_threads)} : grid_for(axes.count(), unroll, queue);
  launch<strided_band_kernel<U, width>>(queue, call, grid, out.as<U>(), Divisor<std::uint32_t>(columns),
                                        Divisor<std::uint32_t>(rows), std::clamp(band.low, -rows, columns),
                                        std::clamp(band.high, -rows, columns), Layout<std::uint32_t, 2>(axes), tiling,
                                        placed(source_of<U>(x, false), axes, 1));
}

template <class U>
void band_of_strided(Axes axes, const Operand& x, const KernelCall& call, Queue& queue) {
  const bool is_turned = bring_forward_turned(axes);
  // Rows that follow each other may be one axis, and a pack lies in one row.
  const bool has_whole_packs = call.out().axes[call.out().rank - 1U].size % pack_width<U> == 0;
  if (has_whole_packs && into_packs(axes, pack_width<U>, is_turned))
    return launch_strided_band<U, pack_width<U>>(axes, is_turned, x, call, queue);
  launch_strided_band<U, 1>(axes, is_turned, x, call, queue);
}

template <class U, int width, class Index>
void launch_band(const Operand& x, const KernelCall& call, Queue& queue) {
  const Operand& out = call.out();
  const auto band = call.attributes->as<BandAttributes>();
  const std::int64_t rows = out.axes[out.rank - 2U].size;
  const std::int64_t columns = out.axes[out.rank - 1U].size;
  BandTask<Index> task{};
  task.x = x.data;
  task.out = out.data;
  task.count = static_cast<Index>(out.count() / width);
  task.columns = Divisor<Index>(columns / width);
  task.rows = Divisor<Index>(rows);
  task.low = std::clamp(band.low, -rows, columns);
  task.high = std::clamp(band.high, -rows, columns);
  task.layout = layout_of(x);
  if (task.layout == OperandLayout::strided) task.axes = row_axes(x, 0, x.rank);
  launch<band_kernel<U, width, Index>>(queue, call, grid_for(out.count() / width, 4, queue), task);
}

template <class U>
void band_of(const Operand& x, const KernelCall& call, Queue& queue) {
  constexpr int width = pack_width<U>;
  const Operand& out = call.out();
  const OperandLayout layout = layout_of(x);
  const bool is_small = out.count() <= std::numeric_limits<std::int32_t>::max();
  const bool has_packs = out.axes[out.rank - 1U].size % width == 0 && is_aligned(out, pack_bytes) &&
                         (layout == OperandLayout::single || (layout == OperandLayout::dense && is_aligned(x, pack_bytes)));
  if (layout == OperandLayout::strided) {
    const std::array operands{&out, &x};
    const Axes axes = collapse(operands);
    if (axes.fits_32_bits()) return band_of_strided<U>(axes, x, call, queue);
  }
  if (has_packs) {
    return is_small ? launch_band<U, width, std::uint32_t>(x, call, queue) : launch_band<U, width, std::uint64_t>(x, call, queue);
  }
  return is_small ? launch_band<U, 1, std::uint32_t>(x, call, queue) : launch_band<U, 1, std::uint64_t>(x, call, queue);
}

}  // namespace

static void matrix_band_part(const KernelCall& call, KernelContext& context) {
  const Operand& x = device_input(call, 0);
  if (call.out().count() == 0) return;
  Queue& queue = queue_of(context);
  visit_size(size_of(x.dtype), [&]<class U>(U) { band_of<U>(x, call, queue); });
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("MatrixBandPart", matrix_band_part);

}  // namespace tutti::kernels::cuda
