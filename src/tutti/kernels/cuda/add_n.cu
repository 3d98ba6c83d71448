#include <algorithm>

#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

constexpr std::size_t most_dense = 64;                         // inputs of one launch where all are dense
constexpr std::size_t most_strided = Axes::most_operands - 1;  // and where not

template <class T>
struct DenseTerms {
  std::uint32_t n;
  const T* data[most_dense];
};

template <class T>
struct StridedTerms {
  std::uint32_t n;
  Source<T> source[most_strided];
};

// The sum so far, between the launches of one call: in the output itself, or in scratch memory where the output is narrower
// than what is summed in. Element for element as the output, which is dense.
template <class T>
struct Partial {
  Working<T>* data;
  bool is_first;  // nothing is there yet
  bool is_last;   // the sum goes to the output
};

// One pass over memory, in the order of the inputs; half precision is summed in f32 and rounded once.
template <class Function, class T>
__global__ void dense_sum_kernel(T* out, std::int64_t count, DenseTerms<T> in, Partial<T> partial) {
  constexpr int width = pack_width<T>;
  using W = Working<T>;
  const ScalarMath<W> math;
  const std::int64_t whole = count / width;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::uint32_t start = partial.is_first ? 1 : 0;
  if (at < whole) {
    Pack<W, width> sum;
    if (partial.is_first) {
      const auto first = reinterpret_cast<const Pack<T, width>*>(in.data[0])[at];
#pragma unroll
      for (int i = 0; i < width; ++i) sum.lane[i] = widen(first.lane[i]);
    } else {
      sum = reinterpret_cast<const Pack<W, width>*>(partial.data)[at];
    }
#pragma unroll 4
    for (std::uint32_t k = start; k < in.n; ++k) {
      const auto next = reinterpret_cast<const Pack<T, width>*>(in.data[k])[at];
#pragma unroll
      for (int i = 0; i < width; ++i) sum.lane[i] = Function::apply(math, sum.lane[i], static_cast<W>(widen(next.lane[i])));
    }
    if (partial.is_last) {
      Pack<T, width> total;
#pragma unroll
      for (int i = 0; i < width; ++i) total.lane[i] = narrow<T>(sum.lane[i]);
      reinterpret_cast<Pack<T, width>*>(out)[at] = total;
    } else {
      reinterpret_cast<Pack<W, width>*>(partial.data)[at] = sum;
    }
  }
  const std::int64_t left = whole * width + threadIdx.x;
  if (blockIdx.x + 1 == gridDim.x && left < count) {
    W sum = partial.is_first ? static_cast<W>(widen(in.data[0][left])) : partial.data[left];
    for (std::uint32_t k = start; k < in.n; ++k) sum = Function::apply(math, sum, static_cast<W>(widen(in.data[k][left])));
    if (partial.is_last) {
      out[left] = narrow<T>(sum);
    } else {
      partial.data[left] = sum;
    }
  }
}

template <class Function, class T, class Index>
__global__ void strided_sum_kernel(T* out, Layout<Index, Axes::most_operands> layout, StridedTerms<T> in, Partial<T> partial) {
  using W = Working<T>;
  const ScalarMath<W> math;
  const Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= layout.count) return;
  typename Layout<Index, Axes::most_operands>::Offset at[Axes::most_operands];
  layout.locate(i, at);
  W sum = partial.is_first ? W{} : partial.data[at[0]];
#pragma unroll
  for (std::uint32_t k = 0; k < most_strided; ++k) {
    if (k >= in.n) break;
    const Source<T>& source = in.source[k];
    const W next = widen(source.data == nullptr ? source.value : source.data[at[k + 1]]);
    sum = k == 0 && partial.is_first ? next : Function::apply(math, sum, next);
  }
  if (partial.is_last) {
    out[at[0]] = narrow<T>(sum);
  } else {
    partial.data[at[0]] = sum;
  }
}

using Terms = std::span<const Operand* const>;

template <class Function, class T>
void add_dense(const Operand& out, Terms terms, const Partial<T>& partial, Queue& queue, const KernelCall& call) {
  constexpr int width = pack_width<T>;
  const std::int64_t count = out.count();
  DenseTerms<T> in{};
  for (const Operand* term : terms) in.data[in.n++] = term->as<T>();
  launch<dense_sum_kernel<Function, T>>(queue, call, grid_for((count + width - 1) / width, 1, queue), out.as<T>(), count, in,
                                        partial);
}

template <class Function, class T>
void add_strided(const Operand& out, Terms terms, const Partial<T>& partial, Queue& queue, const KernelCall& call) {
  std::array<const Operand*, Axes::most_operands> operands;
  operands.fill(&out);
  StridedTerms<T> in{};
  for (const Operand* term : terms) {
    in.source[in.n] = source_of<T>(*term, false);
    operands[++in.n] = term;
  }
  const Axes axes = collapse(operands);
  const Grid grid = grid_for(axes.count(), 1, queue);
  if (axes.fits_32_bits()) {
    launch<strided_sum_kernel<Function, T, std::uint32_t>>(queue, call, grid, out.as<T>(),
                                                           Layout<std::uint32_t, Axes::most_operands>(axes), in, partial);
  } else {
    launch<strided_sum_kernel<Function, T, std::uint64_t>>(queue, call, grid, out.as<T>(),
                                                           Layout<std::uint64_t, Axes::most_operands>(axes), in, partial);
  }
}

bool is_packed(const Operand& in) noexcept { return layout_of(in) == OperandLayout::dense && is_aligned(in, pack_bytes); }

// As many inputs at a time as one launch takes, in their order. Where the sum so far is kept in the output, an input that
// shares the output's memory has to be read by the first launch: it and the first change places.
template <class Function, class T>
void add_all(const KernelCall& call, KernelContext& context) {
  Queue& queue = queue_of(context);
  const Operand& out = call.out();
  bool is_dense = true;
  std::size_t shared = 0;
  for (std::size_t i = 0; i < call.inputs; ++i) {
    is_dense = is_dense && is_packed(call.in(i));
    if (!is_half<T> && call.in(i).data == out.data) shared = i;
  }
  const std::size_t most = is_dense ? most_dense : most_strided;
  Partial<T> partial{};
  if constexpr (!is_half<T>) {
    partial.data = out.as<T>();
  } else if (call.inputs > most) {
    partial.data = call.scratch().as<float>();
  }
  std::array<const Operand*, most_dense> terms;
  for (std::size_t next = 0; next < call.inputs;) {
    partial.is_first = next == 0;
    std::size_t n = 0;
    for (; n < most && next < call.inputs; ++next) {
      terms[n++] = &call.in(shared < most ? next : next == 0 ? shared : next == shared ? 0 : next);
    }
    partial.is_last = next == call.inputs;
    if (is_dense) {
      add_dense<Function, T>(out, {terms.data(), n}, partial, queue, call);
    } else {
      add_strided<Function, T>(out, {terms.data(), n}, partial, queue, call);
    }
  }
}

}  // namespace

// The sum so far of half precision that takes more than one launch, in f32.
static std::int64_t add_n_bytes(const WorkspaceCall& call) {
  const Operand first = call.input(0);
  const std::size_t n_inputs = call.inputs();
  if (!half_dtypes.contains(first.dtype) || n_inputs <= most_strided) return 0;
  bool are_packed = n_inputs <= most_dense;
  for (std::size_t i = 0; i < n_inputs && are_packed; ++i) {
    Operand operand = call.input(i);
    operand.data = const_cast<std::byte*>(call.address(i));
    are_packed = !operand.is_immediate && is_packed(operand);
  }
  return are_packed ? 0 : first.count() * static_cast<std::int64_t>(sizeof(float));
}

static void add_n(const KernelCall& call, KernelContext& context) {
  if (call.out().count() == 0) return;
  if (call.inputs == 1) return copy_operand(call.in(0), call.out(), queue_of(context), call);
  visit_stored<any_dtype>(call.out().dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, StoredBool>) {
      add_all<LogicalOr, std::uint8_t>(call, context);
    } else if constexpr (std::is_integral_v<T>) {
      add_all<Add, std::make_unsigned_t<T>>(call, context);
    } else {
      add_all<Add, T>(call, context);
    }
  });
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("AddN", add_n, workspace<add_n_bytes>);

}  // namespace tutti::kernels::cuda
