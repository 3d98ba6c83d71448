// One thread's share of a reduction: several loads in flight, short chains of narrow parts, and a wide total.
//
// A reduction R is a small type. What they all have:
//   Element, Total         what is loaded, what is kept
//   none(), merge(a, b)    the total of nothing, the total of both
// Most have a Part, in which a few elements are combined before they go into the total:
//   part(element), no_part(), combine(a, b), total_of(part)
// The others are given several elements that were loaded together:
//   with_group(total, elements, index_of)     index_of(k): the index of element k among those reduced
#pragma once

#include <cstdint>
#include <cstring>

namespace tutti::kernels::cuda {

// Parts combined in a row before they go into the total: with it the error of a sum stays below that of a pairwise one.
inline constexpr int longest_chain = 16;

template <class R>
concept TakesGroups = !requires { typename R::Part; };

// In pairs.
template <class R, class Part, int n>
__device__ __forceinline__ Part folded(const R& r, Part (&parts)[n]) {
  static_assert((n & (n - 1)) == 0);
#pragma unroll
  for (int half = n / 2; half > 0; half /= 2) {
#pragma unroll
    for (int i = 0; i < half; ++i) parts[i] = r.combine(parts[i], parts[i + half]);
  }
  return parts[0];
}

template <class R, class Source>
__device__ __forceinline__ typename R::Part part_of(const R& r, const Source& source, const typename Source::Loaded& loaded) {
  typename R::Element elements[Source::width];
  source.unpack(loaded, elements);
  typename R::Part parts[Source::width];
#pragma unroll
  for (int i = 0; i < Source::width; ++i) parts[i] = r.part(elements[i]);
  return folded(r, parts);
}

template <int in_flight, class R, class Source>
__device__ __forceinline__ typename R::Total share_in_parts(const R& r, const Source& source, std::int64_t first,
                                                            std::int64_t count, std::int64_t step) {
  using Part = typename R::Part;
  const std::int64_t end_of_full = count - (in_flight - 1) * step;
  std::int64_t i = first;
  typename R::Total total = r.none();
  while (i < end_of_full) {
    Part parts[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) parts[u] = r.no_part();
    for (int n = 0; n < longest_chain && i < end_of_full; ++n, i += in_flight * step) {
      typename Source::Loaded loaded[in_flight];
#pragma unroll
      for (int u = 0; u < in_flight; ++u) loaded[u] = source.load(i + u * step);
#pragma unroll
      for (int u = 0; u < in_flight; ++u) parts[u] = r.combine(parts[u], part_of(r, source, loaded[u]));
    }
    total = r.merge(total, r.total_of(folded(r, parts)));
  }
  Part rest[in_flight];
#pragma unroll
  for (int u = 0; u < in_flight; ++u) {
    rest[u] = i + u * step < count ? part_of(r, source, source.load(i + u * step)) : r.no_part();
  }
  return r.merge(total, r.total_of(folded(r, rest)));
}

template <int in_flight, class R, class Source>
__device__ __forceinline__ typename R::Total share_in_groups(const R& r, const Source& source, std::int64_t first,
                                                             std::int64_t count, std::int64_t step) {
  using Element = typename R::Element;
  constexpr int width = Source::width;
  const std::int64_t end_of_full = count - (in_flight - 1) * step;
  std::int64_t i = first;
  typename R::Total total = r.none();
  for (; i < end_of_full; i += in_flight * step) {
    typename Source::Loaded loaded[in_flight];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) loaded[u] = source.load(i + u * step);
    Element group[in_flight * width];
#pragma unroll
    for (int u = 0; u < in_flight; ++u) {
      Element elements[width];
      source.unpack(loaded[u], elements);
#pragma unroll
      for (int k = 0; k < width; ++k) group[u * width + k] = elements[k];
    }
    total = r.with_group(total, group, [&](int k) { return source.index_of(i + k / width * step) + k % width; });
  }
  for (; i < count; i += step) {
    Element elements[width];
    source.unpack(source.load(i), elements);
    total = r.with_group(total, elements, [&](int k) { return source.index_of(i) + k; });
  }
  return total;
}

// Of what source.load(i) gives for i = first, first + step, ... below count.
template <int in_flight, class R, class Source>
__device__ __forceinline__ typename R::Total strided_share(const R& r, const Source& source, std::int64_t first,
                                                           std::int64_t count, std::int64_t step) {
  if constexpr (TakesGroups<R>) {
    constexpr int most = 16 / Source::width;  // elements held at a time
    return share_in_groups<(most < 1 ? 1 : most < in_flight ? most : in_flight)>(r, source, first, count, step);
  } else {
    return share_in_parts<in_flight>(r, source, first, count, step);
  }
}

// 16 bytes at a time.
template <class T>
struct VectorSource {
  using Loaded = uint4;
  static constexpr int width = 16 / sizeof(T);

  const uint4* vectors;
  std::int64_t before;  // elements before the first vector

  __device__ __forceinline__ Loaded load(std::int64_t i) const { return __ldg(vectors + i); }
  __device__ __forceinline__ void unpack(const Loaded& loaded, T (&elements)[width]) const {
    memcpy(elements, &loaded, sizeof loaded);
  }
  __device__ __forceinline__ std::int64_t index_of(std::int64_t i) const { return before + i * width; }
};

// The share of one of `threads` threads in the reduction of n elements that lie side by side.
template <class R, class T>
__device__ __forceinline__ typename R::Total contiguous_share(const R& r, const T* elements, std::int64_t n, std::int64_t thread,
                                                              std::int64_t threads) {
  using Source = VectorSource<T>;
  const auto to_boundary = static_cast<std::int64_t>((16 - (reinterpret_cast<std::uintptr_t>(elements) & 15U)) % 16U / sizeof(T));
  const std::int64_t head = to_boundary < n ? to_boundary : n;
  const std::int64_t vectors = (n - head) / Source::width;
  const Source source{reinterpret_cast<const uint4*>(elements + head), head};
  typename R::Total total = strided_share<4>(r, source, thread, vectors, threads);
  // Less than a vector on either side.
  const std::int64_t tail = head + vectors * Source::width;
  if constexpr (TakesGroups<R>) {
    const auto one_by_one = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin + thread; i < end; i += threads) {
        const T one[1] = {elements[i]};
        total = r.with_group(total, one, [i](int) { return i; });
      }
    };
    one_by_one(0, head);
    one_by_one(tail, n);
    return total;
  } else {
    typename R::Part rest = r.no_part();
    for (std::int64_t i = thread; i < head; i += threads) rest = r.combine(rest, r.part(elements[i]));
    for (std::int64_t i = tail + thread; i < n; i += threads) rest = r.combine(rest, r.part(elements[i]));
    return r.merge(total, r.total_of(rest));
  }
}

// The plain sum of what `Convert` makes of elements: parts are added as they are, totals of parts as TotalType.
template <class TotalType, class ElementType, class Convert>
struct ConvertedSum {
  using Element = ElementType;
  using Part = typename Convert::Part;
  using Total = TotalType;
  const Convert& convert;
  __device__ __forceinline__ Part part(const Element& x) const { return convert(x); }
  __device__ __forceinline__ Part no_part() const { return 0; }
  __device__ __forceinline__ Part combine(Part a, Part b) const { return a + b; }
  __device__ __forceinline__ Total total_of(Part part) const { return static_cast<Total>(part); }
  __device__ __forceinline__ Total none() const { return 0; }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return a + b; }
};

// A source that also says what part its elements are.
template <class Source>
struct OneByOne {
  using Part = typename Source::Part;
  using Loaded = typename Source::Loaded;
  static constexpr int width = 1;
  const Source& source;
  __device__ __forceinline__ Loaded load(std::int64_t i) const { return source.load(i); }
  __device__ __forceinline__ void unpack(const Loaded& loaded, Loaded (&elements)[1]) const { elements[0] = loaded; }
  __device__ __forceinline__ Part operator()(const Loaded& loaded) const { return source.part(loaded); }
};

// Adds up part(load(i)) for i = first, first + step, ... below count.
template <class Total, int in_flight, class Source>
__device__ __forceinline__ Total strided_sum(const Source& source, std::int64_t first, std::int64_t count, std::int64_t step) {
  const OneByOne<Source> each{source};
  return strided_share<in_flight>(ConvertedSum<Total, typename Source::Loaded, OneByOne<Source>>{each}, each, first, count, step);
}

template <class Total, class T, class Convert>
__device__ __forceinline__ Total contiguous_sum(const T* elements, std::int64_t n, std::int64_t thread, std::int64_t threads,
                                                const Convert& convert) {
  return contiguous_share(ConvertedSum<Total, T, Convert>{convert}, elements, n, thread, threads);
}

}  // namespace tutti::kernels::cuda
