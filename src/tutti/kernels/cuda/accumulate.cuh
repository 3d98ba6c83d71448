// One thread's share of a reduction: several loads in flight, short chains of narrow parts, and a wide total.
//
// A reduction R is a small type. What they all have:
//   Element, Total         what is loaded, what is kept
//   none(), merge(a, b)    the total of nothing, the total of both
// Most have a Part, in which a few elements are combined before they go into the total:
//   part(element), no_part(), combine(a, b), total_of(part)
//   Packed                 optional: a word with several elements that part() also takes
// The others are given several elements at a time, and keep a Run of a bounded number of them:
//   start(), take(run, elements, place), total_of(run, index_of)
//                          place: of the first of them in the run; index_of(place): the index among those reduced
#pragma once

#include <cstdint>

namespace tutti::kernels::cuda {

// Parts combined in a row before they go into the total: with it the error of a sum stays below that of a pairwise one.
inline constexpr int longest_chain = 16;
inline constexpr int longest_run = 512;    // elements
inline constexpr int group_elements = 16;  // taken into a run at a time

template <class R>
concept TakesGroups = !requires { typename R::Part; };

// In pairs. Halves are arrays of their own: a loop over halves of 16 is not unrolled, and its array then lies in local memory.
template <class R, class Part, int n>
__device__ __forceinline__ Part folded(const R& r, const Part (&parts)[n]) {
  if constexpr (n == 1) {
    return parts[0];
  } else {
    static_assert(n % 2 == 0);
    Part half[n / 2];
#pragma unroll
    for (int i = 0; i < n / 2; ++i) half[i] = r.combine(parts[i], parts[i + n / 2]);
    return folded(r, half);
  }
}

template <class R, class Source>
__device__ __forceinline__ typename R::Part part_of(const R& r, const Source& source, const typename Source::Loaded& loaded) {
  typename Source::Element elements[Source::width];
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
    Part chain = r.no_part();
    for (int n = 0; n < longest_chain && i < end_of_full; ++n, i += in_flight * step) {
      typename Source::Loaded loaded[in_flight];
#pragma unroll
      for (int u = 0; u < in_flight; ++u) loaded[u] = source.load(i + u * step);
      Part parts[in_flight];
#pragma unroll
      for (int u = 0; u < in_flight; ++u) parts[u] = part_of(r, source, loaded[u]);
      chain = r.combine(chain, folded(r, parts));
    }
    total = r.merge(total, r.total_of(chain));
  }
  Part rest[in_flight];
#pragma unroll
  for (int u = 0; u < in_flight; ++u) {
    rest[u] = i + u * step < count ? part_of(r, source, source.load(i + u * step)) : r.no_part();
  }
  return r.merge(total, r.total_of(folded(r, rest)));
}

// The elements of a few loads, taken together.
template <int loads, class R, class Source>
__device__ __forceinline__ void take_group(const R& r, const Source& source, typename R::Run& run,
                                           const typename Source::Loaded* loaded, int place) {
  using Element = typename R::Element;
  constexpr int width = Source::width;
  Element group[loads * width];
#pragma unroll
  for (int u = 0; u < loads; ++u) {
    Element elements[width];
    source.unpack(loaded[u], elements);
#pragma unroll
    for (int k = 0; k < width; ++k) group[u * width + k] = elements[k];
  }
  r.take(run, group, place);
}

template <int in_flight, class R, class Source>
__device__ __forceinline__ typename R::Total share_in_groups(const R& r, const Source& source, std::int64_t first,
                                                             std::int64_t count, std::int64_t step) {
  constexpr int width = Source::width;
  constexpr int together = group_elements / width < in_flight ? group_elements / width : in_flight;
  static_assert(together > 0 && in_flight % together == 0);
  const std::int64_t end_of_full = count - (in_flight - 1) * step;
  std::int64_t i = first;
  typename R::Total total = r.none();
  for (;;) {
    const std::int64_t begin = i;
    typename R::Run run = r.start();
    int place = 0;
    for (; place < longest_run && i < end_of_full; place += in_flight * width, i += in_flight * step) {
      typename Source::Loaded loaded[in_flight];
#pragma unroll
      for (int u = 0; u < in_flight; ++u) loaded[u] = source.load(i + u * step);
#pragma unroll
      for (int u = 0; u < in_flight; u += together) take_group<together>(r, source, run, loaded + u, place + u * width);
    }
    const bool is_last = i >= end_of_full;
    if (is_last && i < count) {
      typename Source::Loaded loaded[in_flight];
#pragma unroll
      for (int u = 0; u + 1 < in_flight; ++u) loaded[u] = source.load(i + u * step < count ? i + u * step : i);
#pragma unroll
      for (int u = 0; u + 1 < in_flight; ++u) {
        if (i + u * step < count) take_group<1>(r, source, run, loaded + u, place + u * width);
      }
    }
    total = r.merge(total, r.total_of(run, [&](int at) { return source.index_of(begin + at / width * step) + at % width; }));
    if (is_last) return total;
  }
}

// Of what source.load(i) gives for i = first, first + step, ... below count.
template <int in_flight, class R, class Source>
__device__ __forceinline__ typename R::Total strided_share(const R& r, const Source& source, std::int64_t first,
                                                           std::int64_t count, std::int64_t step) {
  if constexpr (TakesGroups<R>) {
    return share_in_groups<in_flight>(r, source, first, count, step);
  } else {
    return share_in_parts<in_flight>(r, source, first, count, step);
  }
}

// The share of one of `threads` threads in the reduction of n elements that are contiguous, of which `apart` come before the
// first that can be loaded with those after it. vectors_from(head): a source of whole vectors, from that element on;
// element_at(i): one.
template <int in_flight, int width, class R, class VectorsFrom, class ElementAt>
__device__ __forceinline__ typename R::Total share_from_boundary(const R& r, std::int64_t apart, std::int64_t n,
                                                                 std::int64_t thread, std::int64_t threads,
                                                                 const VectorsFrom& vectors_from, const ElementAt& element_at) {
  const std::int64_t head = apart < n ? apart : n;
  const std::int64_t vectors = (n - head) / width;
  const typename R::Total total = strided_share<in_flight>(r, vectors_from(head), thread, vectors, threads);
  // Less than a vector on either side.
  const std::int64_t tail = head + vectors * width;
  const auto ends = static_cast<int>(head + n - tail);
  if (thread >= ends) return total;
  const auto index_of = [&](int place) { return place < head ? place : place - head + tail; };
  if constexpr (TakesGroups<R>) {
    typename R::Run run = r.start();
    for (int place = static_cast<int>(thread); place < ends; place += static_cast<int>(threads)) {
      const typename R::Element one[1] = {element_at(index_of(place))};
      r.take(run, one, place);
    }
    return r.merge(total, r.total_of(run, index_of));
  } else {
    typename R::Part rest = r.no_part();
    for (int place = static_cast<int>(thread); place < ends; place += static_cast<int>(threads))
      rest = r.combine(rest, r.part(element_at(index_of(place))));
    return r.merge(total, r.total_of(rest));
  }
}

}  // namespace tutti::kernels::cuda
