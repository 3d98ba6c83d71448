// Element-wise ops over operands of any layout and of any dtype that is computed in V: one kernel for what is rare.
#pragma once

#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/tagged.cuh"

namespace tutti::kernels::cuda {

template <class V, std::size_t inputs>
struct TaggedTask {
  void* out;
  const void* in[inputs];  // null where the element is `value`
  V value[inputs];
  TagOf<V> dtype;  // of the inputs
  Layout<std::uint32_t, inputs + 1> layout;
  Tiling tiling;
};

template <class F>
inline constexpr int tagged_unroll = is_costly<F> ? 1 : strided_unroll<1>;

// F gives a V, which is stored as the inputs are, or a bool. U is V, or unsigned where integers wrap.
template <class F, class V, class U, std::size_t inputs>
__global__ void __launch_bounds__(tile_threads) tagged_kernel(F f, const __grid_constant__ TaggedTask<V, inputs> task) {
  constexpr int unroll = tagged_unroll<F>;
  std::int32_t at[unroll][inputs + 1];
  bool is_in[unroll];
  locate_all<1>(task.tiling, task.layout, at, is_in);
  V x[unroll][inputs];
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (!is_in[u]) continue;
#pragma unroll
    for (std::size_t k = 0; k < inputs; ++k)
      x[u][k] = task.in[k] == nullptr ? task.value[k] : load_as<V>(task.in[k], task.dtype, at[u][k + 1]);
  }
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (!is_in[u]) continue;
    const auto result = [&]<std::size_t... k>(std::index_sequence<k...>) {
      return f(static_cast<U>(x[u][k])...);
    }(std::make_index_sequence<inputs>{});
    if constexpr (std::is_same_v<decltype(result), const bool>) {
      static_cast<std::uint8_t*>(task.out)[at[u][0]] = result ? 1 : 0;
    } else {
      store_as<V>(task.out, task.dtype, at[u][0], static_cast<V>(result));
    }
  }
}

// Of a number inside the call.
template <class V>
V number_of(const Operand& operand) {
  return visit_dtype<any_dtype>(operand.dtype, [&]<class T>(T x) {
    std::memcpy(&x, operand.data, sizeof x);
    if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<V>(x);
    } else {
      return static_cast<V>(static_cast<float>(x));
    }
  });
}

// `axes` fit 32 bits.
template <class F, class V, class U, std::size_t inputs>
void launch_tagged(Axes axes, const F& f, Queue& queue, const KernelCall& call) {
  constexpr int unroll = tagged_unroll<F>;
  const bool is_turned = bring_forward_turned(axes);
  TaggedTask<V, inputs> task{};
  task.out = axes.data[0];
  task.dtype = call.in(0).dtype;
  for (std::size_t k = 0; k < inputs; ++k) {
    const Operand& in = call.in(k);
    task.in[k] = in.is_immediate ? nullptr : axes.data[k + 1];
    if (in.is_immediate) task.value[k] = number_of<V>(in);
  }
  task.layout = Layout<std::uint32_t, inputs + 1>(axes);
  if (is_turned) task.tiling = tiles_of(axes, tile_columns<1>, tile_rows<1> * unroll);
  const Grid grid = is_turned ? Grid{dim3(task.tiling.blocks), dim3(tile_threads)} : grid_for(axes.count(), unroll, queue);
  launch<tagged_kernel<F, V, U, inputs>>(queue, call, grid, f, task);
}

}  // namespace tutti::kernels::cuda
