// Elements that are dropped by chance: which ones depends on their numbers alone.
#pragma once

#include "tutti/exec/neural_attributes.h"
#include "tutti/exec/philox.h"
#include "tutti/kernels/cuda/elementwise.cuh"

namespace tutti::kernels::cuda {

// A thread has as many elements as fill whole packs and whole Philox blocks of four words.
template <class T>
inline constexpr int dropout_elements = pack_width<T> > 4 ? pack_width<T> : 4;

template <class T>
__global__ void dropout_kernel(const T* x, T* out, std::int64_t count, bool is_aligned, DropoutAttributes attributes) {
  constexpr int elements = dropout_elements<T>;
  constexpr int width = pack_width<T>;
  const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * elements;
  if (at >= count) return;
  const bool is_whole = is_aligned && at + elements <= count;
  T value[elements];
  if (is_whole) {
#pragma unroll
    for (int p = 0; p < elements / width; ++p) {
      const auto pack = *reinterpret_cast<const Pack<T, width>*>(x + at + p * width);
#pragma unroll
      for (int i = 0; i < width; ++i) value[p * width + i] = pack.lane[i];
    }
  } else {
#pragma unroll
    for (int i = 0; i < elements; ++i) value[i] = at + i < count ? x[at + i] : narrow<T>(0);
  }
  const auto scale = static_cast<Working<T>>(attributes.scale);
#pragma unroll
  for (int b = 0; b < elements / 4; ++b) {
    const Philox::Block words = Philox::block(attributes.key, attributes.counter + static_cast<std::uint64_t>(at / 4 + b));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      T& v = value[b * 4 + i];
      v = words[i] < attributes.dropped ? narrow<T>(0) : narrow<T>(widen(v) * scale);
    }
  }
  if (is_whole) {
#pragma unroll
    for (int p = 0; p < elements / width; ++p) {
      Pack<T, width> pack;
#pragma unroll
      for (int i = 0; i < width; ++i) pack.lane[i] = value[p * width + i];
      *reinterpret_cast<Pack<T, width>*>(out + at + p * width) = pack;
    }
  } else {
#pragma unroll
    for (int i = 0; i < elements; ++i) {
      if (at + i < count) out[at + i] = value[i];
    }
  }
}

// Elements that are counted down the columns of matrices. A thread has four of each of `width` columns, those of one Philox
// block; there are `packs` such columns and `groups` of four rows.
template <class T, int width>
__global__ void dropout_matrices_kernel(const T* x, T* out, Divisor<std::uint32_t> packs, Divisor<std::uint32_t> groups,
                                        std::uint32_t count, DropoutAttributes attributes) {
  const std::uint32_t number = blockIdx.x * blockDim.x + threadIdx.x;
  if (number >= count) return;
  const std::uint32_t above = packs.quotient(number);
  const std::int64_t column = static_cast<std::int64_t>(number - above * packs.divisor()) * width;
  const std::int64_t matrix = groups.quotient(above);
  const std::int64_t group = above - matrix * groups.divisor();
  const std::int64_t at = static_cast<std::int64_t>(above) * 4 * attributes.columns + column;
  Loaded<T, width> loaded[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) loaded[r] = *reinterpret_cast<const Loaded<T, width>*>(x + at + r * attributes.columns);
  Pack<T, width> pack[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) pack[r] = std::bit_cast<Pack<T, width>>(loaded[r]);
  const auto scale = static_cast<Working<T>>(attributes.scale);
  const std::uint64_t first =
      attributes.counter + static_cast<std::uint64_t>((matrix * attributes.columns + column) * groups.divisor() + group);
#pragma unroll
  for (int c = 0; c < width; ++c) {
    const Philox::Block words = Philox::block(attributes.key, first + static_cast<std::uint64_t>(c) * groups.divisor());
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      T& v = pack[r].lane[c];
      v = words[r] < attributes.dropped ? narrow<T>(0) : narrow<T>(widen(v) * scale);
    }
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) *reinterpret_cast<Loaded<T, width>*>(out + at + r * attributes.columns) = held(pack[r]);
}

}  // namespace tutti::kernels::cuda
