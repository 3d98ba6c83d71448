// Elements that are contiguous and move together, up to 16 bytes of them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <type_traits>

#include "tutti/kernels/cuda/elementwise.h"

namespace tutti::kernels::cuda {

template <class T, int width>
struct alignas(sizeof(T) * width) Pack {
  T lane[width];
};

template <std::size_t bytes>
using Words =
    std::conditional_t<bytes == 16, uint4,
                       std::conditional_t<bytes == 8, uint2,
                                          std::conditional_t<bytes == 4, std::uint32_t,
                                                             std::conditional_t<bytes == 2, std::uint16_t, std::uint8_t>>>>;

// A pack as it was loaded. It is taken apart where its elements are used: done at the load, each load of small elements would
// wait for the one before.
template <class T, int width>
using Loaded = Words<sizeof(T) * width>;

template <class T, int width>
__device__ __forceinline__ Pack<T, width> repeat(T x) {
  Pack<T, width> pack;
#pragma unroll
  for (int i = 0; i < width; ++i) pack.lane[i] = x;
  return pack;
}

template <class T, int width>
__device__ __forceinline__ Loaded<T, width> held(const Pack<T, width>& pack) {
  return std::bit_cast<Loaded<T, width>>(pack);
}

// f of the elements of each pack.
template <int width, class F, class Out, class... In>
__device__ __forceinline__ Loaded<Out, width> apply(const F& f, const Loaded<In, width>&... in) {
  const auto of_lanes = [&](const Pack<In, width>&... pack) {
    Pack<Out, width> out;
#pragma unroll
    for (int i = 0; i < width; ++i) out.lane[i] = f(pack.lane[i]...);
    return held(out);
  };
  return of_lanes(std::bit_cast<Pack<In, width>>(in)...);
}

// As many elements as fill 16 bytes of the largest type.
template <class... T>
inline constexpr int pack_width = static_cast<int>(pack_bytes / std::max({sizeof(T)...}));

}  // namespace tutti::kernels::cuda
