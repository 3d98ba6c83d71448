// The kernels behind every element-wise op, over any function of one element of each input, and the choice between them:
// packs of 16 bytes where the operands lie dense, packs along the innermost axis where they can be had, single elements
// otherwise. The output may be one of the inputs: a thread reads all it needs before it writes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "tutti/kernels/cuda/elementwise.h"
#include "tutti/kernels/cuda/layout.h"
#include "tutti/kernels/cuda/math.cuh"

namespace tutti::kernels::cuda {

template <class T, int width>
struct alignas(sizeof(T) * width) Pack {
  T lane[width];
};

// The packs of one input that a thread has in flight at once.
template <class T, int width, int unroll>
struct Batch {
  Pack<T, width> pack[unroll];
};

template <class T, int width>
__device__ __forceinline__ Pack<T, width> repeat(T x) {
  Pack<T, width> pack;
#pragma unroll
  for (int i = 0; i < width; ++i) pack.lane[i] = x;
  return pack;
}

template <int width, class F, class Out, class... In>
__device__ __forceinline__ Pack<Out, width> apply(const F& f, const Pack<In, width>&... in) {
  Pack<Out, width> out;
#pragma unroll
  for (int i = 0; i < width; ++i) out.lane[i] = f(in.lane[i]...);
  return out;
}

// As many elements as fill 16 bytes of the largest type.
template <class... T>
inline constexpr int pack_width = static_cast<int>(pack_bytes / std::max({sizeof(T)...}));

// Enough bytes in flight for each thread to hide the memory's latency.
template <class... In>
inline constexpr int dense_unroll = sizeof...(In) > 1 ? 2 : 4;

template <int width, int unroll, class T>
__device__ __forceinline__ Batch<T, width, unroll> load_dense(const Source<T>& in, std::int64_t first, std::int64_t step,
                                                              std::int64_t end) {
  Batch<T, width, unroll> batch;
  if (in.is_repeated) {
    const Pack<T, width> same = repeat<T, width>(in.data == nullptr ? in.value : *in.data);
#pragma unroll
    for (int u = 0; u < unroll; ++u) batch.pack[u] = same;
    return batch;
  }
  const auto* packs = reinterpret_cast<const Pack<T, width>*>(in.data);
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (first + u * step < end) batch.pack[u] = packs[first + u * step];
  }
  return batch;
}

template <int width, int unroll, class F, class Out, class... In>
__device__ __forceinline__ void store_dense(const F& f, Out* out, std::int64_t first, std::int64_t step, std::int64_t end,
                                            const Batch<In, width, unroll>&... in) {
  auto* packs = reinterpret_cast<Pack<Out, width>*>(out);
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (first + u * step < end) packs[first + u * step] = apply<width, F, Out, In...>(f, in.pack[u]...);
  }
}

template <class T>
__device__ __forceinline__ T element(const Source<T>& in, std::int64_t i) {
  return in.data == nullptr ? in.value : in.data[in.is_repeated ? 0 : i];
}

// Thread t of a block has the packs t, t + threads, ... of the block's share. What is left after the last whole pack is done
// by the first threads of the last block, an element each.
template <class F, class Out, class... In>
__global__ void dense_kernel(F f, Out* out, std::int64_t count, Source<In>... in) {
  constexpr int width = pack_width<Out, In...>;
  constexpr int unroll = dense_unroll<In...>;
  const std::int64_t whole = count / width;
  const std::int64_t step = blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * step * unroll + threadIdx.x;
  store_dense<width, unroll, F, Out, In...>(f, out, first, step, whole, load_dense<width, unroll>(in, first, step, whole)...);
  const std::int64_t left = whole * width + threadIdx.x;
  if (blockIdx.x + 1 == gridDim.x && left < count) out[left] = f(element(in, left)...);
}

template <int width, int unroll, class T, class Offset, std::size_t operands>
__device__ __forceinline__ Batch<T, width, unroll> load_strided(const Source<T>& in, std::size_t operand,
                                                                const Offset (&at)[unroll][operands],
                                                                const bool (&is_in)[unroll]) {
  Batch<T, width, unroll> batch;
  if (in.data == nullptr) {
#pragma unroll
    for (int u = 0; u < unroll; ++u) batch.pack[u] = repeat<T, width>(in.value);
    return batch;
  }
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (!is_in[u]) continue;
    const T* from = in.data + at[u][operand];
    if (width > 1 && in.is_repeated) {
      batch.pack[u] = repeat<T, width>(*from);
    } else {
      batch.pack[u] = *reinterpret_cast<const Pack<T, width>*>(from);
    }
  }
  return batch;
}

template <int width, int unroll, class F, class Out, class... In, class Offset, std::size_t operands>
__device__ __forceinline__ void store_strided(const F& f, Out* out, const Offset (&at)[unroll][operands],
                                              const bool (&is_in)[unroll], const Batch<In, width, unroll>&... in) {
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (is_in[u]) *reinterpret_cast<Pack<Out, width>*>(out + at[u][0]) = apply<width, F, Out, In...>(f, in.pack[u]...);
  }
}

template <int width>
inline constexpr int strided_unroll = width > 1 ? 2 : 4;

template <int width, class F, class Out, class... In, class Index, std::size_t operands, std::size_t... k>
__device__ __forceinline__ void run_strided(const F& f, Out* out, const Layout<Index, operands>& layout,
                                            std::index_sequence<k...>, const Source<In>&... in) {
  constexpr int unroll = strided_unroll<width>;
  const Index first = static_cast<Index>(blockIdx.x) * blockDim.x * unroll + threadIdx.x;
  typename Layout<Index, operands>::Offset at[unroll][operands];
  bool is_in[unroll];
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    is_in[u] = first + u * blockDim.x < layout.count;
    layout.locate(is_in[u] ? first + u * blockDim.x : 0, at[u]);
  }
  store_strided<width, unroll, F, Out, In...>(f, out, at, is_in, load_strided<width, unroll>(in, k + 1, at, is_in)...);
}

// Operand 0 of the layout is the output, then the inputs in order.
template <int width, class Index, class F, class Out, class... In>
__global__ void strided_kernel(F f, Out* out, Layout<Index, sizeof...(In) + 1> layout, Source<In>... in) {
  run_strided<width, F, Out, In...>(f, out, layout, std::index_sequence_for<In...>{}, in...);
}

// Whether it was launched: false where an operand is not dense (or single) and aligned.
template <class F, class Out, class... In, std::size_t... k>
bool launch_dense(const F& f, Queue& queue, const KernelCall& call, std::index_sequence<k...>) {
  constexpr int width = pack_width<Out, In...>;
  const Operand& out = call.out();
  const std::array<Lie, sizeof...(In)> lies{lie_of(call.in(k))...};
  const bool fits = ((lies[k] == Lie::single || (lies[k] == Lie::dense && is_aligned(call.in(k), sizeof(In) * width))) && ...);
  if (!fits || !out.is_dense() || !is_aligned(out, sizeof(Out) * width)) return false;
  const std::int64_t count = out.count();
  const Grid grid = grid_for((count + width - 1) / width, dense_unroll<In...>, queue);
  launch<dense_kernel<F, Out, In...>>(queue, call, grid, f, out.as<Out>(), count,
                                      source_of<In>(call.in(k), lies[k] == Lie::single)...);
  return true;
}

// `axes` says where the operands begin; an input without an address is a number inside the call.
template <int width, class F, class Out, class... In, std::size_t... k>
void launch_strided(const F& f, Queue& queue, const KernelCall& call, const Axes& axes, unsigned repeated,
                    std::index_sequence<k...>) {
  const Layout<std::uint32_t, sizeof...(In) + 1> layout(axes);
  const Grid grid = grid_for(axes.count(), strided_unroll<width>, queue);
  const auto source = [&]<class T>(std::type_identity<T>, std::size_t number) {
    Source<T> made = source_of<T>(call.in(number), (repeated >> (number + 1) & 1U) != 0);
    if (made.data != nullptr) made.data = reinterpret_cast<const T*>(axes.data[number + 1]);
    return made;
  };
  launch<strided_kernel<width, std::uint32_t, F, Out, In...>>(queue, call, grid, f, reinterpret_cast<Out*>(axes.data[0]), layout,
                                                              source(std::type_identity<In>{}, k)...);
}

// The op's output is f of its inputs, element by element. Out and In are the types of the stored elements.
template <class F, class Out, class... In>
void run_elementwise(const KernelCall& call, KernelContext& context, const F& f = {}) {
  constexpr std::index_sequence_for<In...> numbers;
  if (call.out().count() == 0) return;
  Queue& queue = queue_of(context);
  if (launch_dense<F, Out, In...>(f, queue, call, numbers)) return;
  constexpr int width = pack_width<Out, In...>;
  std::array<const Operand*, sizeof...(In) + 1> operands{&call.out()};
  for (std::size_t i = 0; i < sizeof...(In); ++i) operands[i + 1] = &call.in(i);
  for_each_32_bit_part(collapse(operands), [&](Axes part) {
    if (const auto repeated = into_packs(part, width)) {
      launch_strided<width, F, Out, In...>(f, queue, call, part, *repeated, numbers);
    } else {
      launch_strided<1, F, Out, In...>(f, queue, call, part, 0, numbers);
    }
  });
}

}  // namespace tutti::kernels::cuda
