#include "tutti/exec/index_message.h"
#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/exp_sum.cuh"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/trap.cuh"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels::cuda {

namespace {

using tutti::cuda::Trap;

// Dense labels of either width.
struct Labels {
  const void* data;
  bool is_wide;
  bool has_ignored;
  std::int64_t ignored;
  Trap* trap;

  __device__ __forceinline__ std::int64_t at(std::int64_t i) const {
    return is_wide ? static_cast<const std::int64_t*>(data)[i] : static_cast<const std::int32_t*>(data)[i];
  }
  __device__ __forceinline__ bool ignores(std::int64_t label) const { return has_ignored && label == ignored; }
};

// By one thread, which knows of the whole line.
template <class T>
__device__ __forceinline__ void put_loss(const T* x, T* out, std::int64_t line, std::int64_t length, const Labels& labels,
                                         Working<T> largest, double sum) {
  using W = Working<T>;
  const std::int64_t label = labels.at(line);
  if (labels.ignores(label)) {
    out[line] = narrow<T>(W{0});
  } else if (label < 0 || label >= length) {
    note(labels.trap, 1, label, length);
  } else {
    out[line] = narrow<T>(logarithm<W>(sum) - (widen(x[line * length + label]) - largest));
  }
}

template <class T, class Kernel>
__global__ void __launch_bounds__(Kernel::is_block ? most_line_threads : lane_line_threads)
    cross_entropy_lines(const T* x, T* out, std::int64_t lines, int length, int lanes, Labels labels) {
  using W = Working<T>;
  const LineGroup<Kernel::is_block> group{lanes};
  const std::int64_t line = group.line();
  LineShare<T, Kernel::width, Kernel::packs> share;
  share.load(group, x + line * length, length, line < lines, static_cast<W>(-INFINITY));
  W largest = -INFINITY;
  share.each(group, length, [&](W& v, int) { largest = Largest{}(largest, v); });
  largest = group.largest(largest);
  W sum = 0;
  share.each(group, length, [&](W& v, int) { sum += exponential<W>(v - largest); });
  const double total = group.sum(sum);
  if (line < lines && group.lane() == 0) put_loss(x, out, line, length, labels, largest, total);
}

template <class T>
__global__ void __launch_bounds__(part_threads)
    finish_cross_entropy(const T* x, T* out, std::int64_t parts, std::int64_t length, const ExpPart* sums, Labels labels) {
  const std::int64_t line = blockIdx.x;
  const ExpPart whole = join_exp_parts(sums + line * parts, parts);
  if (threadIdx.x == 0) put_loss(x, out, line, length, labels, static_cast<Working<T>>(whole.largest), whole.sum);
}

// A number for each line, of any strides.
template <class T>
struct LineFactors {
  const T* data;
  int rank;
  Axis axes[most_axes];

  explicit LineFactors(const Operand& operand) : data(operand.as<T>()), rank(operand.rank) {
    for (int i = 0; i < rank; ++i) axes[i] = operand.axes[static_cast<std::size_t>(i)];
  }
  __device__ __forceinline__ Working<T> at(std::int64_t line) const {
    std::int64_t offset = 0;
    for (int i = rank; i-- > 0; line /= axes[i].size) offset += line % axes[i].size * axes[i].stride;
    return widen(data[offset]);
  }
};

// The label of a line whose gradient is wanted, with the factor; -1 and a factor of 0 where it is ignored.
template <class T>
struct LabelledLine {
  std::int64_t label;
  Working<T> factor;

  __device__ __forceinline__ LabelledLine(std::int64_t line, std::int64_t length, const Labels& labels,
                                          const LineFactors<T>& factors)
      : label(labels.at(line)), factor(factors.at(line)) {
    if (labels.ignores(label)) {
      label = -1;
      factor = 0;
    } else if (label < 0 || label >= length) {
      note(labels.trap, 1, label, length);
    }
  }
  // From the element's share of the softmax. A factor of 0 gives 0 whatever the share.
  __device__ __forceinline__ Working<T> gradient(Working<T> share, std::int64_t element) const {
    return label < 0 ? Working<T>{0} : (element == label ? share - 1 : share) * factor;
  }
};

template <class T, class Kernel>
__global__ void __launch_bounds__(Kernel::is_block ? most_line_threads : lane_line_threads)
    cross_entropy_gradient_lines(const T* x, T* out, std::int64_t lines, int length, int lanes, Labels labels,
                                 LineFactors<T> factors) {
  using W = Working<T>;
  const LineGroup<Kernel::is_block> group{lanes};
  const std::int64_t line = group.line();
  LineShare<T, Kernel::width, Kernel::packs> share;
  share.load(group, x + line * length, length, line < lines, static_cast<W>(-INFINITY));
  W largest = -INFINITY;
  share.each(group, length, [&](W& v, int) { largest = Largest{}(largest, v); });
  largest = group.largest(largest);
  W sum = 0;
  share.each(group, length, [&](W& v, int) { sum += v = exponential<W>(v - largest); });
  const W last = W{1} / static_cast<W>(group.sum(sum));
  if (line >= lines) return;
  const LabelledLine<T> labelled(line, length, labels, factors);
  share.each(group, length, [&](W& v, int i) { v = labelled.gradient(v * last, i); });
  share.store(group, out + line * length, length);
}

template <class T, int width>
__global__ void __launch_bounds__(part_threads)
    finish_cross_entropy_gradient(const T* x, T* out, LineParts parts, std::int64_t length, const ExpPart* sums, Labels labels,
                                  LineFactors<T> factors) {
  using W = Working<T>;
  const std::int64_t line = blockIdx.x / parts.count;
  const std::int64_t begin = (blockIdx.x - line * parts.count) * parts.length;
  const ExpPart whole = join_exp_parts(sums + line * parts.count, parts.count);
  const W largest = static_cast<W>(whole.largest);
  const W last = W{1} / static_cast<W>(whole.sum);
  const LabelledLine<T> labelled(line, length, labels, factors);
  for_each_pack<width>(x + line * length, begin, earlier(begin + parts.length, length),
                       [&](const Pack<T, width>& pack, std::int64_t at) {
                         Pack<T, width> result;
#pragma unroll
                         for (int i = 0; i < width; ++i) {
                           const W share = exponential<W>(widen(pack.lane[i]) - largest) * last;
                           result.lane[i] = narrow<T>(labelled.gradient(share, at + i));
                         }
                         *reinterpret_cast<Pack<T, width>*>(out + line * length + at) = result;
                       });
}

// One block, so that the order of additions is the same every time.
template <class T>
__global__ void __launch_bounds__(most_line_threads) mean_loss(const T* losses, std::int64_t count, Labels labels, T* out) {
  double sum = 0;
  double kept = 0;
#pragma unroll 4
  for (std::int64_t i = threadIdx.x; i < count; i += most_line_threads) {
    sum += widen(losses[i]);  // what was ignored is 0
    kept += labels.ignores(labels.at(i)) ? 0 : 1;
  }
  sum = join_block(sum, 0.0, Plus{});
  kept = join_block(kept, 0.0, Plus{});
  if (threadIdx.x == 0) *out = narrow<T>(static_cast<Working<T>>(sum / kept));
}

std::string describe_label(const Trap& trap) { return index_out_of_range(trap.first, 1, trap.second); }

Labels labels_of(const KernelCall& call, Trap* trap) {
  const auto attributes = call.attributes->as<CrossEntropyAttributes>();
  const Operand& labels = device_input(call, 1);
  return {labels.data, is_wide_index(labels.dtype), attributes.has_ignore_index, attributes.ignore_index, trap};
}

template <class T>
void run_cross_entropy(const KernelCall& call, Queue& queue) {
  const LineShape shape(device_input(call, 0));
  if (shape.lines == 0) return;
  const Labels labels = labels_of(call, queue.arm_trap(describe_label));
  const T* x = call.in(0).as<T>();
  T* out = call.out().as<T>();
  LineShape at_least = shape;  // without classes: no label is one, and a lane each says so
  at_least.length = std::max<std::int64_t>(1, shape.length);
  const bool packed = shape.length > 0 && is_packed<T>(shape, call.in(0));
  const bool is_held = with_line_kernel<T>(at_least, packed, [&]<class Kernel>(Kernel, const Grid& grid, int lanes) {
    launch<cross_entropy_lines<T, Kernel>>(queue, call, grid, x, out, shape.lines, shape.length, lanes, labels);
  });
  if (is_held) return;
  const ExpPart* sums = launch_exp_sums<T>(shape, packed, queue, call);
  const Grid grid{.blocks = dim3(static_cast<unsigned>(shape.lines)), .threads = dim3(part_threads)};
  launch<finish_cross_entropy<T>>(queue, call, grid, x, out, LineParts(shape.length).count, shape.length, sums, labels);
}

template <class T>
void run_gradient(const KernelCall& call, Queue& queue) {
  const LineShape shape(device_input(call, 0));
  if (shape.lines == 0 || shape.length == 0) return;
  const Labels labels = labels_of(call, queue.arm_trap(describe_label));
  const LineFactors<T> factors(device_input(call, 2));
  const T* x = call.in(0).as<T>();
  T* out = call.out().as<T>();
  const bool packed = is_packed<T>(shape, call.in(0)) && is_aligned(call.out(), pack_bytes);
  const bool is_held = with_line_kernel<T>(shape, packed, [&]<class Kernel>(Kernel, const Grid& grid, int lanes) {
    launch<cross_entropy_gradient_lines<T, Kernel>>(queue, call, grid, x, out, shape.lines, shape.length, lanes, labels, factors);
  });
  if (is_held) return;
  const ExpPart* sums = launch_exp_sums<T>(shape, packed, queue, call);
  const LineParts parts(shape.length);
  with_line_width<T>(packed, [&]<int width>(std::integral_constant<int, width>) {
    launch<finish_cross_entropy_gradient<T, width>>(queue, call, grid_of_parts(shape), x, out, parts, shape.length, sums, labels,
                                                    factors);
  });
}

template <class T>
void run_mean(const KernelCall& call, Queue& queue) {
  launch<mean_loss<T>>(queue, call, Grid{.blocks = dim3(1), .threads = dim3(most_line_threads)}, device_input(call, 0).as<T>(),
                       call.in(0).count(), labels_of(call, nullptr), call.out().as<T>());
}

}  // namespace

static void cross_entropy(const KernelCall& call, KernelContext& context) {
  visit_stored<floating_dtypes>(call.in(0).dtype, [&]<class T>(T) { run_cross_entropy<T>(call, queue_of(context)); });
}

static void cross_entropy_gradient(const KernelCall& call, KernelContext& context) {
  visit_stored<floating_dtypes>(call.in(0).dtype, [&]<class T>(T) { run_gradient<T>(call, queue_of(context)); });
}

static void cross_entropy_mean(const KernelCall& call, KernelContext& context) {
  visit_stored<floating_dtypes>(call.in(0).dtype, [&]<class T>(T) { run_mean<T>(call, queue_of(context)); });
}

static std::int64_t cross_entropy_bytes(const WorkspaceCall& call) {
  const LineShape shape(call.input(0));
  return shape.length > LineParts::least ? exp_part_bytes(shape) : 0;
}

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("SparseSoftmaxCrossEntropyWithLogits", cross_entropy, workspace<cross_entropy_bytes>, floating_dtypes) &&
    register_cuda_kernel("SparseSoftmaxCrossEntropyGrad", cross_entropy_gradient, workspace<cross_entropy_bytes>,
                         floating_dtypes) &&
    register_cuda_kernel("CrossEntropyMean", cross_entropy_mean, nullptr, floating_dtypes);

}  // namespace tutti::kernels::cuda
