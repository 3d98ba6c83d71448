// The kernels behind every element-wise op, over any function of one element of each input, and the choice between them:
// packs of 16 bytes where the operands are dense, packs along the innermost axis where they can be had, single elements
// otherwise; in tiles where an input lies along another axis than the output. The output may be one of the inputs: a thread reads
// all it needs before it writes.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "tutti/kernels/cuda/batch.cuh"
#include "tutti/kernels/cuda/elementwise.h"
#include "tutti/kernels/cuda/layout.h"
#include "tutti/kernels/cuda/math.cuh"
#include "tutti/kernels/cuda/pack.cuh"
#include "tutti/kernels/cuda/tiles.cuh"

namespace tutti::kernels::cuda {

// Thread t of a block has the packs t, t + threads, ... of the block's share. What is left after the last whole pack is done
// by the first threads of the last block, an element each.
template <class F, class Out, class... In>
__global__ void dense_kernel(F f, Out* out, std::int64_t count, Source<In>... in) {
  constexpr int width = pack_width<Out, In...>;
  constexpr int unroll = dense_unroll<F, In...>;
  const std::int64_t whole = count / width;
  const std::int64_t step = blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * step * unroll + threadIdx.x;
  store_dense<width, unroll, F, Out, In...>(f, out, first, step, whole, load_dense<width, unroll>(in, first, step, whole)...);
  const std::int64_t left = whole * width + threadIdx.x;
  if (blockIdx.x + 1 == gridDim.x && left < count) out[left] = f(element(in, left)...);
}

// Whether an input may lie along another axis than the output. The output of an op of one input lies as that does; a copy is
// there to change it.
template <class F, class... In>
inline constexpr bool may_turn = sizeof...(In) > 1 || std::is_same_v<F, Same>;

template <bool turns, int width, int unroll, class T, std::size_t operands>
__device__ __forceinline__ Batch<T, width, unroll> load_strided(const Source<T>& in, std::size_t operand,
                                                                const std::int32_t (&at)[unroll][operands],
                                                                const bool (&is_in)[unroll]) {
  Batch<T, width, unroll> batch;
  if (in.data == nullptr) {
#pragma unroll
    for (int u = 0; u < unroll; ++u) batch.pack[u] = held(repeat<T, width>(in.value));
    return batch;
  }
  if (width > 1 && in.lane_step == 0) {
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      if (is_in[u]) batch.pack[u] = held(repeat<T, width>(in.data[at[u][operand]]));
    }
    return batch;
  }
  if constexpr (turns && width == 16 && unroll == 4) {
    const T* from = in.data + at[0][operand];
    const bool are_words = in.lane_step % 4 == 0 && reinterpret_cast<std::uintptr_t>(from) % 4 == 0;
    if (are_words && is_in[unroll - 1] && at[1][operand] - at[0][operand] == 1 && at[3][operand] - at[2][operand] == 1)
      return load_turned_bytes(from, in.lane_step);
  }
  if (turns && width > 1 && in.lane_step != 1) {
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      if (!is_in[u]) continue;
      const T* from = in.data + at[u][operand];
      Pack<T, width> pack;
#pragma unroll
      for (int i = 0; i < width; ++i) pack.lane[i] = from[static_cast<std::int64_t>(in.lane_step) * i];
      batch.pack[u] = held(pack);
    }
    return batch;
  }
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (is_in[u]) batch.pack[u] = *reinterpret_cast<const Loaded<T, width>*>(in.data + at[u][operand]);
  }
  return batch;
}

template <int width, int unroll, class F, class Out, class... In, std::size_t operands>
__device__ __forceinline__ void store_strided(const F& f, Out* out, const std::int32_t (&at)[unroll][operands],
                                              const bool (&is_in)[unroll], const Batch<In, width, unroll>&... in) {
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (is_in[u]) *reinterpret_cast<Loaded<Out, width>*>(out + at[u][0]) = apply<width, F, Out, In...>(f, in.pack[u]...);
  }
}

template <int width>
inline constexpr int strided_unroll = width > 1 && width < 16 ? 2 : 4;

// Where the elements of a thread lie, and which of them there are.
template <int width, int unroll, std::size_t operands>
__device__ __forceinline__ void locate_all(const Tiling& tiling, const Layout<std::uint32_t, operands>& layout,
                                           std::int32_t (&at)[unroll][operands], bool (&is_in)[unroll]) {
  if (tiling.is_used) return locate_in_tile<width>(tiling, layout, at, is_in);
  const std::uint32_t first = blockIdx.x * blockDim.x * unroll + threadIdx.x;
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    is_in[u] = first + u * blockDim.x < layout.count;
    layout.locate(is_in[u] ? first + u * blockDim.x : 0, at[u]);
  }
}

template <int width, class F, class Out, class... In, std::size_t operands, std::size_t... k>
__device__ __forceinline__ void run_strided(const F& f, Out* out, const Layout<std::uint32_t, operands>& layout,
                                            const Tiling& tiling, std::index_sequence<k...>, const Source<In>&... in) {
  constexpr int unroll = strided_unroll<width>;
  constexpr bool turns = may_turn<F, In...>;
  std::int32_t at[unroll][operands];
  bool is_in[unroll];
  locate_all<width>(tiling, layout, at, is_in);
  store_strided<width, unroll, F, Out, In...>(f, out, at, is_in, load_strided<turns, width, unroll>(in, k + 1, at, is_in)...);
}

// Operand 0 of the layout is the output, then the inputs in order.
template <int width, class F, class Out, class... In>
__global__ void strided_kernel(F f, Out* out, Layout<std::uint32_t, sizeof...(In) + 1> layout, Tiling tiling, Source<In>... in) {
  run_strided<width, F, Out, In...>(f, out, layout, tiling, std::index_sequence_for<In...>{}, in...);
}

// Whether it was launched: false where an operand is not dense (or single) and aligned.
template <class F, class Out, class... In, std::size_t... k>
bool launch_dense(const F& f, Queue& queue, const KernelCall& call, std::index_sequence<k...>) {
  constexpr int width = pack_width<Out, In...>;
  const Operand& out = call.out();
  const std::array<OperandLayout, sizeof...(In)> layouts{layout_of(call.in(k))...};
  const bool fits = ((layouts[k] == OperandLayout::single ||
                      (layouts[k] == OperandLayout::dense && is_aligned(call.in(k), sizeof(In) * width))) &&
                     ...);
  if (!fits || !out.is_dense() || !is_aligned(out, sizeof(Out) * width)) return false;
  const std::int64_t count = out.count();
  const Grid grid = grid_for((count + width - 1) / width, dense_unroll<F, In...>, queue);
  launch<dense_kernel<F, Out, In...>>(queue, call, grid, f, out.as<Out>(), count,
                                      source_of<In>(call.in(k), layouts[k] == OperandLayout::single)...);
  return true;
}

template <class T>
Source<T> placed(Source<T> source, const Axes& axes, std::size_t operand) noexcept {
  if (source.data != nullptr) source.data = reinterpret_cast<const T*>(axes.data[operand]);
  source.lane_step = static_cast<std::int32_t>(axes.lane_step[operand]);
  return source;
}

template <int width, class F, class Out, class... In, std::size_t... k>
void launch_strided(const F& f, Queue& queue, const KernelCall& call, const Axes& axes, bool is_turned, std::index_sequence<k...>,
                    const Source<In>&... in) {
  constexpr int unroll = strided_unroll<width>;
  const Tiling tiling = is_turned ? tiles_of(axes, tile_columns<width>, tile_rows<width> * unroll) : Tiling{};
  const Grid grid = is_turned ? Grid{dim3(tiling.blocks), dim3(tile_threads)} : grid_for(axes.count(), unroll, queue);
  launch<strided_kernel<width, F, Out, In...>>(queue, call, grid, f, reinterpret_cast<Out*>(axes.data[0]),
                                               Layout<std::uint32_t, sizeof...(In) + 1>(axes), tiling,
                                               placed(in, axes, k + 1)...);
}

// `axes` says where the operands begin; an input without an address is a number inside the call.
template <class F, class Out, class... In>
void run_over(const Axes& axes, const F& f, Queue& queue, const KernelCall& call, const Source<In>&... in) {
  constexpr std::index_sequence_for<In...> numbers;
  constexpr int width = pack_width<Out, In...>;
  for_each_32_bit_part(axes, [&](Axes part) {
    const bool is_turned = may_turn<F, In...> && bring_forward_turned(part);
    if (into_packs(part, width, is_turned)) {
      launch_strided<width, F, Out, In...>(f, queue, call, part, is_turned, numbers, in...);
    } else {
      launch_strided<1, F, Out, In...>(f, queue, call, part, is_turned, numbers, in...);
    }
  });
}

template <class F, class Out, class... In, std::size_t... k>
void run_elementwise(const KernelCall& call, Queue& queue, const F& f, std::index_sequence<k...> numbers) {
  if (launch_dense<F, Out, In...>(f, queue, call, numbers)) return;
  const std::array<const Operand*, sizeof...(In) + 1> operands{&call.out(), &call.in(k)...};
  run_over<F, Out, In...>(collapse(operands), f, queue, call, source_of<In>(call.in(k), false)...);
}

// The op's output is f of its inputs, element by element. Out and In are the types of the stored elements.
template <class F, class Out, class... In>
void run_elementwise(const KernelCall& call, KernelContext& context, const F& f = {}) {
  if (call.out().count() == 0) return;
  run_elementwise<F, Out, In...>(call, queue_of(context), f, std::index_sequence_for<In...>{});
}

}  // namespace tutti::kernels::cuda
