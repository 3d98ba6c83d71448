// What softmax and its kin need of lines that one block does not hold: the largest element and the sum of e^(x - largest),
// first of each part, then joined.
#pragma once

#include "tutti/kernels/cuda/lines.cuh"

namespace tutti::kernels::cuda {

struct ExpPart {
  double largest;
  double sum;
};

inline std::int64_t exp_part_bytes(const LineShape& shape) noexcept {
  return shape.lines * LineParts(shape.length).count * static_cast<std::int64_t>(sizeof(ExpPart));
}

template <class W>
__device__ __forceinline__ W exponential(W x) {
  return Exp::apply(ScalarMath<W>{}, x);
}

template <class T, int width>
__global__ void __launch_bounds__(part_threads)
    exp_sums_of_parts(const T* x, LineParts parts, std::int64_t length, ExpPart* out) {
  using W = Working<T>;
  const std::int64_t line = blockIdx.x / parts.count;
  const std::int64_t begin = (blockIdx.x - line * parts.count) * parts.length;
  const std::int64_t end = earlier(begin + parts.length, length);
  const T* elements = x + line * length;
  W largest = -INFINITY;
  for_each_pack<width>(elements, begin, end, [&](const Pack<T, width>& pack, std::int64_t) {
#pragma unroll
    for (int i = 0; i < width; ++i) largest = Largest{}(largest, widen(pack.lane[i]));
  });
  largest = join_block(largest, static_cast<W>(-INFINITY), Largest{});
  // A part of nothing but -inf adds nothing, and must not make the others a NaN.
  const W shift = largest == static_cast<W>(-INFINITY) ? W{0} : largest;
  double sum = 0;
  for_each_pack<width>(elements, begin, end, [&](const Pack<T, width>& pack, std::int64_t) {
    W some = 0;
#pragma unroll
    for (int i = 0; i < width; ++i) some += exponential<W>(widen(pack.lane[i]) - shift);
    sum += some;
  });
  sum = join_block(sum, 0.0, Plus{});
  if (threadIdx.x == 0) out[blockIdx.x] = {static_cast<double>(largest), sum};
}

// By all threads of a block.
__device__ __forceinline__ ExpPart join_exp_parts(const ExpPart* parts, std::int64_t count) {
  double largest = -INFINITY;
  for (std::int64_t i = threadIdx.x; i < count; i += part_threads) largest = Largest{}(largest, parts[i].largest);
  largest = join_block(largest, static_cast<double>(-INFINITY), Largest{});
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += part_threads) {
    if (parts[i].sum != 0) sum += parts[i].sum * ::exp(parts[i].largest - largest);
  }
  return {largest, join_block(sum, 0.0, Plus{})};
}

template <class W>
__device__ __forceinline__ W logarithm(double x) {
  if constexpr (std::is_same_v<W, float>) {
    return ::logf(static_cast<float>(x));
  } else {
    return ::log(x);
  }
}

// Into the call's scratch.
template <class T>
ExpPart* launch_exp_sums(const LineShape& shape, bool packed, Queue& queue, const KernelCall& call) {
  auto* parts = call.scratch().as<ExpPart>();
  const T* x = call.in(0).as<T>();
  const LineParts cut(shape.length);
  with_line_width<T>(packed, [&]<int width>(std::integral_constant<int, width>) {
    launch<exp_sums_of_parts<T, width>>(queue, call, grid_of_parts(shape), x, cut, shape.length, parts);
  });
  return parts;
}

}  // namespace tutti::kernels::cuda
