#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/lines.cuh"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

// Of one part of a line.
struct Moments {
  double mean;
  double squares;  // of the distances from it, added up
  double count;
};

// Weight and bias may be null; otherwise they are aligned as x is.
template <class T>
struct Affine {
  const T* weight;
  const T* bias;

  template <int width, class W>
  __device__ __forceinline__ void apply(W* x, std::int64_t at) const {
    if (weight != nullptr) {
      const auto pack = *reinterpret_cast<const Pack<T, width>*>(weight + at);
#pragma unroll
      for (int i = 0; i < width; ++i) x[i] *= widen(pack.lane[i]);
    }
    if (bias != nullptr) {
      const auto pack = *reinterpret_cast<const Pack<T, width>*>(bias + at);
#pragma unroll
      for (int i = 0; i < width; ++i) x[i] += widen(pack.lane[i]);
    }
  }
};

template <class W>
__device__ __forceinline__ W factor_of(double mean_square, double epsilon) {
  if constexpr (std::is_same_v<W, float>) {
    return static_cast<float>(rsqrt(mean_square + epsilon));
  } else {
    return 1 / sqrt(mean_square + epsilon);
  }
}

template <class T, class Kernel>
__global__ void __launch_bounds__(Kernel::is_block ? most_line_threads : lane_line_threads)
    layer_norm_lines(const T* x, T* out, std::int64_t lines, int length, int lanes, double epsilon, Affine<T> affine) {
  using W = Working<T>;
  const LineGroup<Kernel::is_block> group{lanes};
  const std::int64_t line = group.line();
  const bool is_line = line < lines;
  LineShare<T, Kernel::width, Kernel::packs> share;
  share.load(group, x + line * length, length, is_line, W{0});
  W sum = 0;
  share.each(group, length, [&](W& v, int) { sum += v; });
  const W mean = static_cast<W>(group.sum(sum) / length);
  W squares = 0;
  share.each(group, length, [&](W& v, int) {
    v -= mean;
    squares += v * v;
  });
  const W factor = factor_of<W>(group.sum(squares) / length, epsilon);
  if (!is_line) return;
  share.each(group, length, [&](W& v, int) { v *= factor; });
  share.each_pack(group, length, [&](W* values, int at) { affine.template apply<Kernel::width>(values, at); });
  share.store(group, out + line * length, length);
}

template <class T, int width>
__global__ void __launch_bounds__(part_threads) moments_of_parts(const T* x, LineParts parts, std::int64_t length, Moments* out) {
  using W = Working<T>;
  const std::int64_t line = blockIdx.x / parts.count;
  const std::int64_t begin = (blockIdx.x - line * parts.count) * parts.length;
  const std::int64_t end = earlier(begin + parts.length, length);
  const T* elements = x + line * length;
  double sum = 0;
  for_each_pack<width>(elements, begin, end, [&](const Pack<T, width>& pack, std::int64_t) {
    W some = 0;
#pragma unroll
    for (int i = 0; i < width; ++i) some += widen(pack.lane[i]);
    sum += some;
  });
  const double count = static_cast<double>(end - begin);
  const double mean = join_block(sum, 0.0, Plus{}) / count;
  const W near = static_cast<W>(mean);
  double squares = 0;
  for_each_pack<width>(elements, begin, end, [&](const Pack<T, width>& pack, std::int64_t) {
    W some = 0;
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const W apart = widen(pack.lane[i]) - near;
      some += apart * apart;
    }
    squares += some;
  });
  squares = join_block(squares, 0.0, Plus{});
  const double off = mean - static_cast<double>(near);  // squares were taken around a rounded mean
  if (threadIdx.x == 0) out[blockIdx.x] = {mean, squares - count * off * off, count};
}

// By all threads of a block: the mean and the mean square around it.
__device__ __forceinline__ Moments join_moments(const Moments* parts, std::int64_t count, double length) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += part_threads) sum += parts[i].mean * parts[i].count;
  const double mean = join_block(sum, 0.0, Plus{}) / length;
  double squares = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += part_threads) {
    const double off = parts[i].mean - mean;
    squares += parts[i].squares + parts[i].count * off * off;
  }
  return {mean, join_block(squares, 0.0, Plus{}) / length, length};
}

template <class T, int width>
__global__ void __launch_bounds__(part_threads) finish_layer_norm(const T* x, T* out, LineParts parts, std::int64_t length,
                                                                  const Moments* moments, double epsilon, Affine<T> affine) {
  using W = Working<T>;
  const std::int64_t line = blockIdx.x / parts.count;
  const std::int64_t begin = (blockIdx.x - line * parts.count) * parts.length;
  const Moments whole = join_moments(moments + line * parts.count, parts.count, static_cast<double>(length));
  const W mean = static_cast<W>(whole.mean);
  const W factor = factor_of<W>(whole.squares, epsilon);
  for_each_pack<width>(x + line * length, begin, earlier(begin + parts.length, length),
                       [&](const Pack<T, width>& pack, std::int64_t at) {
                         W values[width];
#pragma unroll
                         for (int i = 0; i < width; ++i) values[i] = (widen(pack.lane[i]) - mean) * factor;
                         affine.template apply<width>(values, at);
                         Pack<T, width> result;
#pragma unroll
                         for (int i = 0; i < width; ++i) result.lane[i] = narrow<T>(values[i]);
                         *reinterpret_cast<Pack<T, width>*>(out + line * length + at) = result;
                       });
}

template <class T>
void run_layer_norm(const KernelCall& call, Queue& queue, const LayerNormAttributes& attributes) {
  const LineShape shape(call.in(0), static_cast<std::size_t>(attributes.axes));
  if (shape.lines == 0 || shape.length == 0) return;
  const T* x = call.in(0).as<T>();
  T* out = call.out().as<T>();
  const Affine<T> affine{attributes.has_weight ? call.in(1).as<T>() : nullptr,
                         attributes.has_bias ? call.in(attributes.has_weight ? 2 : 1).as<T>() : nullptr};
  bool packed = is_aligned(call.out(), pack_bytes);
  for (std::size_t i = 0; i < call.inputs; ++i) packed = packed && is_packed<T>(shape, call.in(i));
  const bool is_held = with_line_kernel<T>(shape, packed, [&]<class Kernel>(Kernel, const Grid& grid, int lanes) {
    launch<layer_norm_lines<T, Kernel>>(queue, call, grid, x, out, shape.lines, shape.length, lanes, attributes.epsilon, affine);
  });
  if (is_held) return;
  const LineParts parts(shape.length);
  const Grid grid = grid_of_parts(shape);
  auto* moments = call.scratch().as<Moments>();
  with_line_width<T>(packed, [&]<int width>(std::integral_constant<int, width>) {
    launch<moments_of_parts<T, width>>(queue, call, grid, x, parts, shape.length, moments);
    launch<finish_layer_norm<T, width>>(queue, call, grid, x, out, parts, shape.length, moments, attributes.epsilon, affine);
  });
}

// Of one line, for the sums over all of them.
template <class W>
struct LineMoments {
  W mean;
  W factor;
};

// The gradient of x. A line is gone through several times, by few threads at short distances: it stays in their cache.
template <class T, bool is_block>
__global__ void __launch_bounds__(is_block ? part_threads : lane_line_threads)
    layer_norm_gradient_lines(const T* x, const T* given, const T* weight, T* out, std::int64_t lines, std::int64_t length,
                              int lanes, double epsilon, LineMoments<Working<T>>* moments) {
  using W = Working<T>;
  const LineGroup<is_block> group{lanes};
  const std::int64_t line = group.line();
  const bool is_line = line < lines;
  const std::int64_t end = is_line ? length : 0;
  const std::int64_t at = line * length;
  W sum = 0;
  for (std::int64_t i = group.lane(); i < end; i += lanes) sum += widen(x[at + i]);
  const W mean = static_cast<W>(group.sum(sum) / static_cast<double>(length));
  W squares = 0;
  for (std::int64_t i = group.lane(); i < end; i += lanes) {
    const W apart = widen(x[at + i]) - mean;
    squares += apart * apart;
  }
  const W factor = factor_of<W>(group.sum(squares) / static_cast<double>(length), epsilon);
  const auto weighted = [&](std::int64_t i) {
    const W g = widen(given[at + i]);
    return weight != nullptr ? g * widen(weight[i]) : g;
  };
  W all = 0;
  W along = 0;
  for (std::int64_t i = group.lane(); i < end; i += lanes) {
    const W h = weighted(i);
    all += h;
    along += h * ((widen(x[at + i]) - mean) * factor);
  }
  const W middle = static_cast<W>(group.sum(all) / static_cast<double>(length));
  along = static_cast<W>(group.sum(along) / static_cast<double>(length));
  for (std::int64_t i = group.lane(); i < end; i += lanes)
    out[at + i] = narrow<T>((weighted(i) - middle - (widen(x[at + i]) - mean) * factor * along) * factor);
  if (is_line && group.lane() == 0) moments[line] = {mean, factor};
}

// What the lines of a chunk add to the gradients of weight and bias: 32 columns for each block.
constexpr int column_threads = 8;
constexpr std::int64_t chunk_lines = 256;
struct ColumnSums {
  double of_weight;
  double of_bias;
};

template <class T>
__global__ void __launch_bounds__(warp_lanes* column_threads)
    sum_norm_columns(const T* x, const T* given, const LineMoments<Working<T>>* moments, std::int64_t lines, std::int64_t length,
                     ColumnSums* out) {
  using W = Working<T>;
  __shared__ ColumnSums shared[column_threads][warp_lanes];
  const std::int64_t strips = (length + warp_lanes - 1) / warp_lanes;
  const std::int64_t chunk = blockIdx.x / strips;
  const std::int64_t column = (blockIdx.x - chunk * strips) * warp_lanes + threadIdx.x;
  const std::int64_t end = earlier((chunk + 1) * chunk_lines, lines);
  W of_weight = 0;
  W of_bias = 0;
  if (column < length) {
    for (std::int64_t line = chunk * chunk_lines + threadIdx.y; line < end; line += column_threads) {
      const LineMoments<W> known = moments[line];
      const W g = widen(given[line * length + column]);
      of_weight += g * ((widen(x[line * length + column]) - known.mean) * known.factor);
      of_bias += g;
    }
  }
  shared[threadIdx.y][threadIdx.x] = {static_cast<double>(of_weight), static_cast<double>(of_bias)};
  __syncthreads();
  if (threadIdx.y != 0 || column >= length) return;
  ColumnSums sums = shared[0][threadIdx.x];
  for (int i = 1; i < column_threads; ++i) {
    sums.of_weight += shared[i][threadIdx.x].of_weight;
    sums.of_bias += shared[i][threadIdx.x].of_bias;
  }
  out[chunk * length + column] = sums;
}

template <class T>
__global__ void __launch_bounds__(part_threads)
    join_norm_columns(const ColumnSums* sums, std::int64_t chunks, std::int64_t length, T* of_weight, T* of_bias) {
  using W = Working<T>;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * part_threads + threadIdx.x;
  if (column >= length) return;
  ColumnSums all{0, 0};
  for (std::int64_t i = 0; i < chunks; ++i) {
    const ColumnSums some = sums[i * length + column];
    all.of_weight += some.of_weight;
    all.of_bias += some.of_bias;
  }
  if (of_weight != nullptr) of_weight[column] = narrow<T>(static_cast<W>(all.of_weight));
  if (of_bias != nullptr) of_bias[column] = narrow<T>(static_cast<W>(all.of_bias));
}

std::int64_t chunks_of(const LineShape& shape) { return (shape.lines + chunk_lines - 1) / chunk_lines; }

template <class T>
void run_layer_norm_gradient(const KernelCall& call, Queue& queue, const LayerNormAttributes& attributes) {
  using W = Working<T>;
  const LineShape shape(call.in(0), static_cast<std::size_t>(attributes.axes));
  if (shape.length == 0) return;
  const T* x = call.in(0).as<T>();
  const T* given = call.in(1).as<T>();
  const T* weight = attributes.has_weight ? call.in(2).as<T>() : nullptr;
  T* out = call.out().as<T>();
  auto* sums = call.scratch().as<ColumnSums>();
  auto* moments = reinterpret_cast<LineMoments<W>*>(sums + chunks_of(shape) * shape.length);
  if (shape.lines > 0 && shape.length > 1024) {
    const Grid grid{.blocks = dim3(static_cast<unsigned>(shape.lines)), .threads = dim3(part_threads)};
    launch<layer_norm_gradient_lines<T, true>>(queue, call, grid, x, given, weight, out, shape.lines, shape.length, part_threads,
                                               attributes.epsilon, moments);
  } else if (shape.lines > 0) {
    const int lanes =
        static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(shape.length, warp_lanes))));
    const std::int64_t per_block = lane_line_threads / lanes;
    const Grid grid{.blocks = dim3(static_cast<unsigned>((shape.lines + per_block - 1) / per_block)),
                    .threads = dim3(lane_line_threads)};
    launch<layer_norm_gradient_lines<T, false>>(queue, call, grid, x, given, weight, out, shape.lines, shape.length, lanes,
                                                attributes.epsilon, moments);
  }
  if (!attributes.has_weight && !attributes.has_bias) return;
  if (shape.lines > 0) {
    const std::int64_t strips = (shape.length + warp_lanes - 1) / warp_lanes;
    const Grid grid{.blocks = dim3(static_cast<unsigned>(strips * chunks_of(shape))),
                    .threads = dim3(warp_lanes, column_threads)};
    launch<sum_norm_columns<T>>(queue, call, grid, x, given, moments, shape.lines, shape.length, sums);
  }
  const Grid grid{.blocks = dim3(static_cast<unsigned>((shape.length + part_threads - 1) / part_threads)),
                  .threads = dim3(part_threads)};
  launch<join_norm_columns<T>>(queue, call, grid, sums, chunks_of(shape), shape.length,
                               attributes.has_weight ? call.out(1).as<T>() : nullptr,
                               attributes.has_bias ? call.out(attributes.has_weight ? 2 : 1).as<T>() : nullptr);
}

}  // namespace

static void layer_norm(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<LayerNormAttributes>();
  Queue& queue = queue_of(context);
  for (std::size_t i = 0; i < call.inputs; ++i) (void)device_input(call, i);
  visit_stored<floating_dtypes>(call.in(0).dtype, [&]<class T>(T) { run_layer_norm<T>(call, queue, attributes); });
}

static std::int64_t layer_norm_bytes(const WorkspaceCall& call) {
  const LineShape shape(call.input(0), static_cast<std::size_t>(call.attributes().as<LayerNormAttributes>().axes));
  if (shape.length <= LineParts::least) return 0;
  return shape.lines * LineParts(shape.length).count * static_cast<std::int64_t>(sizeof(Moments));
}

static void layer_norm_gradient(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<LayerNormAttributes>();
  Queue& queue = queue_of(context);
  for (std::size_t i = 0; i < call.inputs; ++i) (void)device_input(call, i);
  visit_stored<floating_dtypes>(call.in(0).dtype, [&]<class T>(T) { run_layer_norm_gradient<T>(call, queue, attributes); });
}

static std::int64_t layer_norm_gradient_bytes(const WorkspaceCall& call) {
  const LineShape shape(call.input(0), static_cast<std::size_t>(call.attributes().as<LayerNormAttributes>().axes));
  return chunks_of(shape) * shape.length * static_cast<std::int64_t>(sizeof(ColumnSums)) +
         shape.lines * static_cast<std::int64_t>(sizeof(LineMoments<double>));
}

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("LayerNorm", layer_norm, workspace<layer_norm_bytes>, floating_dtypes) &&
    register_cuda_kernel("LayerNormGrad", layer_norm_gradient, workspace<layer_norm_gradient_bytes>, floating_dtypes);

}  // namespace tutti::kernels::cuda
