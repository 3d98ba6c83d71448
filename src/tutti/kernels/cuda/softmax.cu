#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/exp_sum.cuh"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

template <class T, class Kernel>
__global__ void __launch_bounds__(Kernel::is_block ? most_line_threads : lane_line_threads)
    softmax_lines(const T* x, T* out, std::int64_t lines, int length, int lanes, bool is_log) {
  using W = Working<T>;
  const LineGroup<Kernel::is_block> group{lanes};
  const std::int64_t line = group.line();
  const bool is_line = line < lines;
  LineShare<T, Kernel::width, Kernel::packs> share;
  share.load(group, x + line * length, length, is_line, static_cast<W>(-INFINITY));
  W largest = -INFINITY;
  share.each(group, length, [&](W& v, int) { largest = Largest{}(largest, v); });
  largest = group.largest(largest);
  W sum = 0;
  share.each(group, length, [&](W& v, int) {
    const W power = exponential<W>(v - largest);
    v = is_log ? v - largest : power;
    sum += power;
  });
  const double total = group.sum(sum);
  const W last = is_log ? logarithm<W>(total) : W{1} / static_cast<W>(total);
  share.each(group, length, [&](W& v, int) { v = is_log ? v - last : v * last; });
  if (is_line) share.store(group, out + line * length, length);
}

template <class T, int width>
__global__ void __launch_bounds__(part_threads)
    finish_softmax(const T* x, T* out, LineParts parts, std::int64_t length, const ExpPart* sums, bool is_log) {
  using W = Working<T>;
  const std::int64_t line = blockIdx.x / parts.count;
  const std::int64_t begin = (blockIdx.x - line * parts.count) * parts.length;
  const ExpPart whole = join_exp_parts(sums + line * parts.count, parts.count);
  const W largest = static_cast<W>(whole.largest);
  const W last = is_log ? logarithm<W>(whole.sum) : W{1} / static_cast<W>(whole.sum);
  for_each_pack<width>(x + line * length, begin, earlier(begin + parts.length, length),
                       [&](const Pack<T, width>& pack, std::int64_t at) {
                         Pack<T, width> result;
#pragma unroll
                         for (int i = 0; i < width; ++i) {
                           const W apart = widen(pack.lane[i]) - largest;
                           result.lane[i] = narrow<T>(is_log ? apart - last : exponential<W>(apart) * last);
                         }
                         *reinterpret_cast<Pack<T, width>*>(out + line * length + at) = result;
                       });
}

inline constexpr int column_lanes = 32;  // columns side by side in a block
inline constexpr int column_rows = 8;    // threads that share a column

template <class W, class Join>
__device__ __forceinline__ W join_column(W x, const Join& join) {
  __shared__ W shared[column_rows][column_lanes];
  __syncthreads();  // who still reads from the last time
  shared[threadIdx.y][threadIdx.x] = x;
  __syncthreads();
  W all = shared[0][threadIdx.x];
#pragma unroll
  for (int i = 1; i < column_rows; ++i) all = join(all, shared[i][threadIdx.x]);
  return all;
}

// Matrices of `length` rows one after the other; a block has up to 32 columns of one of them.
template <class T>
__global__ void __launch_bounds__(column_lanes* column_rows)
    softmax_columns(const T* x, T* out, std::int64_t length, std::int64_t columns, std::int64_t strips, bool is_log) {
  using W = Working<T>;
  const std::int64_t matrix = blockIdx.x / strips;
  const std::int64_t column = (blockIdx.x - matrix * strips) * column_lanes + threadIdx.x;
  const bool is_column = column < columns;
  const std::int64_t first = matrix * length * columns + column;
  W largest = -INFINITY;
  double sum = 0;
  if (is_column) {
#pragma unroll 4
    for (std::int64_t i = threadIdx.y; i < length; i += column_rows) largest = Largest{}(largest, widen(x[first + i * columns]));
  }
  largest = join_column(largest, Largest{});
  if (is_column) {
#pragma unroll 4
    for (std::int64_t i = threadIdx.y; i < length; i += column_rows)
      sum += exponential<W>(widen(x[first + i * columns]) - largest);
  }
  sum = join_column(sum, Plus{});
  if (!is_column) return;
  const W last = is_log ? logarithm<W>(sum) : W{1} / static_cast<W>(sum);
#pragma unroll 4
  for (std::int64_t i = threadIdx.y; i < length; i += column_rows) {
    const W apart = widen(x[first + i * columns]) - largest;
    out[first + i * columns] = narrow<T>(is_log ? apart - last : exponential<W>(apart) * last);
  }
}

template <class T>
void run_softmax_by_column(const KernelCall& call, Queue& queue, std::size_t after, bool is_log) {
  const LineShape matrices(call.in(0), after + 1);
  if (matrices.lines == 0 || matrices.length == 0) return;
  const std::int64_t columns = LineShape(call.in(0), after).length;
  const std::int64_t strips = (columns + column_lanes - 1) / column_lanes;
  const Grid grid{.blocks = dim3(static_cast<unsigned>(matrices.lines * strips)), .threads = dim3(column_lanes, column_rows)};
  launch<softmax_columns<T>>(queue, call, grid, call.in(0).as<T>(), call.out().as<T>(), matrices.length / columns, columns,
                             strips, is_log);
}

template <class T>
void run_softmax(const KernelCall& call, Queue& queue, bool is_log) {
  const auto after = static_cast<std::size_t>(call.attributes->as<SoftmaxAttributes>().after);
  if (after > 0) return run_softmax_by_column<T>(call, queue, after, is_log);
  const LineShape shape(call.in(0));
  if (shape.lines == 0 || shape.length == 0) return;
  const T* x = call.in(0).as<T>();
  T* out = call.out().as<T>();
  const bool packed = is_packed<T>(shape, call.in(0)) && is_aligned(call.out(), pack_bytes);
  const bool is_held = with_line_kernel<T>(shape, packed, [&]<class Kernel>(Kernel, const Grid& grid, int lanes) {
    launch<softmax_lines<T, Kernel>>(queue, call, grid, x, out, shape.lines, shape.length, lanes, is_log);
  });
  if (is_held) return;
  const ExpPart* sums = launch_exp_sums<T>(shape, packed, queue, call);
  const LineParts parts(shape.length);
  with_line_width<T>(packed, [&]<int width>(std::integral_constant<int, width>) {
    launch<finish_softmax<T, width>>(queue, call, grid_of_parts(shape), x, out, parts, shape.length, sums, is_log);
  });
}

}  // namespace

template <bool is_log>
static void softmax(const KernelCall& call, KernelContext& context) {
  visit_stored<floating_dtypes>(device_input(call, 0).dtype,
                                [&]<class T>(T) { run_softmax<T>(call, queue_of(context), is_log); });
}

// Asked for before it is known whether packs can be had: a line that may have to be cut.
static std::int64_t softmax_bytes(const WorkspaceCall& call) {
  const LineShape shape(call.input(0));
  if (call.attributes().as<SoftmaxAttributes>().after > 0) return 0;
  return shape.length > LineParts::least ? exp_part_bytes(shape) : 0;
}

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("Softmax", softmax<false>, workspace<softmax_bytes>, floating_dtypes) &&
    register_cuda_kernel("LogSoftmax", softmax<true>, workspace<softmax_bytes>, floating_dtypes);

}  // namespace tutti::kernels::cuda
