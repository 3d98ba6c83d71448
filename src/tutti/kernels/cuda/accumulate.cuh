// One thread's share of a sum: several loads in flight, short chains of additions, and a wide total.
#pragma once

#include <cstdint>
#include <cstring>

namespace tutti::kernels::cuda {

// Additions in a row before the short sums go into the total: with it the error stays below that of a pairwise sum.
inline constexpr int longest_chain = 16;

// Adds up part(load(i)) for i = first, first + step, ... below count. Parts are added as they are, totals of parts as Total.
template <class Total, int in_flight, class Source>
__device__ __forceinline__ Total strided_sum(const Source& source, std::int64_t first, std::int64_t count, std::int64_t step) {
  static_assert((in_flight & (in_flight - 1)) == 0);
  using Part = typename Source::Part;
  const auto folded = [](Part(&parts)[in_flight]) {
#pragma unroll
    for (int width = in_flight / 2; width > 0; width /= 2) {
#pragma unroll
      for (int i = 0; i < width; ++i) parts[i] += parts[i + width];
    }
    return static_cast<Total>(parts[0]);
  };
  const std::int64_t end_of_full = count - (in_flight - 1) * step;
  std::int64_t i = first;
  Total total = 0;
  while (i < end_of_full) {
    Part parts[in_flight] = {};
    for (int n = 0; n < longest_chain && i < end_of_full; ++n, i += in_flight * step) {
      typename Source::Loaded loaded[in_flight];
#pragma unroll
      for (int u = 0; u < in_flight; ++u) loaded[u] = source.load(i + u * step);
#pragma unroll
      for (int u = 0; u < in_flight; ++u) parts[u] += source.part(loaded[u]);
    }
    total += folded(parts);
  }
  Part rest[in_flight] = {};
#pragma unroll
  for (int u = 0; u < in_flight; ++u) {
    if (i + u * step < count) rest[u] = source.part(source.load(i + u * step));
  }
  return total + folded(rest);
}

// 16 bytes at a time. `Convert` turns an element into the part that is added.
template <class T, class Convert>
struct VectorSource {
  using Part = typename Convert::Part;
  using Loaded = uint4;
  static constexpr int width = 16 / sizeof(T);

  const uint4* vectors;
  Convert convert;

  __device__ __forceinline__ Loaded load(std::int64_t i) const { return __ldg(vectors + i); }
  __device__ __forceinline__ Part part(const Loaded& loaded) const {
    T elements[width];
    memcpy(elements, &loaded, sizeof loaded);
    Part parts[width];
#pragma unroll
    for (int i = 0; i < width; ++i) parts[i] = convert(elements[i]);
#pragma unroll
    for (int half = width / 2; half > 0; half /= 2) {
#pragma unroll
      for (int i = 0; i < half; ++i) parts[i] += parts[i + half];
    }
    return parts[0];
  }
};

// The share of one of `threads` threads in the sum of n elements that lie side by side.
template <class Total, class T, class Convert>
__device__ __forceinline__ Total contiguous_sum(const T* elements, std::int64_t n, std::int64_t thread, std::int64_t threads,
                                                const Convert& convert) {
  using Source = VectorSource<T, Convert>;
  const auto to_boundary = static_cast<std::int64_t>((16 - (reinterpret_cast<std::uintptr_t>(elements) & 15U)) % 16U / sizeof(T));
  const std::int64_t head = to_boundary < n ? to_boundary : n;
  const std::int64_t vectors = (n - head) / Source::width;
  const Source source{reinterpret_cast<const uint4*>(elements + head), convert};
  Total total = strided_sum<Total, 4>(source, thread, vectors, threads);
  // Less than a vector on either side.
  typename Convert::Part rest = 0;
  for (std::int64_t i = thread; i < head; i += threads) rest += convert(elements[i]);
  for (std::int64_t i = head + vectors * Source::width + thread; i < n; i += threads) rest += convert(elements[i]);
  return total + static_cast<Total>(rest);
}

}  // namespace tutti::kernels::cuda
