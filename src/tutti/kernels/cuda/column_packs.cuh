// Reductions whose neighbours in memory belong to different results, several results a thread: it loads what is contiguous of
// them at once, and keeps a run or a chain for each.
#pragma once

#include "tutti/kernels/cuda/pack.cuh"
#include "tutti/kernels/cuda/reduction_shares.cuh"

namespace tutti::kernels::cuda {

inline constexpr int column_pack_threads = 256;

// Where one column a thread leaves too few bytes in flight, or too little to do between loads.
template <class R>
consteval bool takes_column_packs() {
  if constexpr (HasOneForm<R>) {
    return false;
  } else {
    return sizeof(typename R::Element) < (TakesGroups<R> ? 8 : 4);
  }
}

// What is kept of a column between loads: a run, or a chain of parts.
template <class R>
struct ColumnState {
  using Type = typename R::Part;
  static constexpr int longest(int in_flight) { return longest_chain * in_flight; }
  static __device__ __forceinline__ Type start(const R& r) { return r.no_part(); }
  template <int n>
  static __device__ __forceinline__ void take(const R& r, Type& chain, const typename R::Element (&elements)[n], int /*place*/) {
    Type parts[n];
#pragma unroll
    for (int i = 0; i < n; ++i) parts[i] = r.part(elements[i]);
    chain = r.combine(chain, folded(r, parts));
  }
  template <class IndexOf>
  static __device__ __forceinline__ typename R::Total total_of(const R& r, const Type& chain, const IndexOf&) {
    return r.total_of(chain);
  }
};
template <TakesGroups R>
struct ColumnState<R> {
  using Type = typename R::Run;
  static constexpr int longest(int) { return longest_run; }
  static __device__ __forceinline__ Type start(const R& r) { return r.start(); }
  template <int n>
  static __device__ __forceinline__ void take(const R& r, Type& run, const typename R::Element (&elements)[n], int place) {
    r.take(run, elements, place);
  }
  template <class IndexOf>
  static __device__ __forceinline__ typename R::Total total_of(const R& r, const Type& run, const IndexOf& index_of) {
    return r.total_of(run, index_of);
  }
};

// Columns of a thread: at most 16 bytes, and no more than it has registers for.
template <class R>
consteval int columns_together() {
  constexpr int most = TakesGroups<R> ? 2 : 4;
  constexpr int fitting = 16 / static_cast<int>(sizeof(typename R::Element));
  return most < fitting ? most : fitting;
}

// Loads of a thread, and blocks per multiprocessor: large runs need registers, and much to do between them.
template <class R>
inline constexpr int column_packs_in_flight = sizeof(typename ColumnState<R>::Type) > 16          ? 16
                                              : TakesGroups<R> || sizeof(typename R::Element) < 4 ? 8
                                                                                                  : 4;
template <class R>
inline constexpr int column_pack_blocks = sizeof(typename ColumnState<R>::Type) > 8 ? 3 : 4;

// A reduction of so many columns a thread.
template <class R, int n>
struct Columns {
  using Reduction = R;
  using Element = typename R::Element;
  using Total = typename R::Total;
  using State = typename ColumnState<R>::Type;
  static constexpr int count = n;
  using Packed = Loaded<Element, n>;
  static __device__ __forceinline__ Element column(const Packed& packed, int k) {
    return std::bit_cast<Pack<Element, n>>(packed).lane[k];
  }
};

// The packs of n rows, each column into its state.
template <class C, int n>
__device__ __forceinline__ void take_rows(const typename C::Reduction& r, const typename C::Packed* packs, std::int64_t apart,
                                          typename C::State* states, int place) {
  typename C::Packed loaded[n];
#pragma unroll
  for (int u = 0; u < n; ++u) loaded[u] = packs[u * apart];
#pragma unroll
  for (int k = 0; k < C::count; ++k) {
    typename C::Element elements[n];
#pragma unroll
    for (int u = 0; u < n; ++u) elements[u] = C::column(loaded[u], k);
    ColumnState<typename C::Reduction>::take(r, states[k], elements, place);
  }
}

// Fewer than 2 * n rows: by halves, so that few round trips are made.
template <class C, int n>
__device__ __forceinline__ void take_last_rows(const typename C::Reduction& r, const typename C::Packed* packs,
                                               std::int64_t apart, int rows, typename C::State* states, int place) {
  if constexpr (n > 0) {
    if (rows >= n) {
      take_rows<C, n>(r, packs, apart, states, place);
      packs += n * apart;
      place += n;
      rows -= n;
    }
    take_last_rows<C, n / 2>(r, packs, apart, rows, states, place);
  }
}

// A thread's share of its columns: rows first, first + step, ... below task.length. The totals lie in shared memory: only the
// states need registers while elements are loaded.
template <class C, int in_flight>
__device__ __forceinline__ void share_of_columns(const typename C::Reduction& r, const typename C::Packed* packs,
                                                 std::int64_t row_packs, std::int64_t first, std::int64_t length,
                                                 std::int64_t step, typename C::Total* totals) {
  using State = ColumnState<typename C::Reduction>;
  const std::int64_t apart = step * row_packs;
  std::int64_t left = first < length ? (length - first + step - 1) / step : 0;  // rows
  std::int64_t begin = first;
  packs += first * row_packs;
#pragma unroll
  for (int k = 0; k < C::count; ++k) totals[k] = r.none();
  do {
    typename C::State states[C::count];
#pragma unroll
    for (int k = 0; k < C::count; ++k) states[k] = State::start(r);
    int place = 0;
    for (; place < State::longest(in_flight) && left >= in_flight; place += in_flight, left -= in_flight) {
      take_rows<C, in_flight>(r, packs, apart, states, place);
      packs += in_flight * apart;
    }
    if (left < in_flight) {
      take_last_rows<C, in_flight / 2>(r, packs, apart, static_cast<int>(left), states, place);
      left = 0;
    }
#pragma unroll
    for (int k = 0; k < C::count; ++k)
      totals[k] = r.merge(totals[k], State::total_of(r, states[k], [&](int at) { return begin + at * step; }));
    begin += place * step;
  } while (left > 0);
}

template <class R, int columns = columns_together<R>(), int threads = column_pack_threads, int blocks = column_pack_blocks<R>,
          int in_flight = column_packs_in_flight<R>>
__global__ void __launch_bounds__(threads, blocks)
    reduce_by_column_pack(const __grid_constant__ ReductionTask task, const __grid_constant__ R r) {
  using C = Columns<R, columns>;
  using Total = typename R::Total;
  using Element = typename R::Element;
  constexpr int across = column_tile / columns;  // threads
  constexpr int height = threads / across;
  __shared__ Total totals[height * column_tile];
  const auto thread = static_cast<int>(threadIdx.x);
  const int x = thread % across;
  const int y = thread / across;
  const std::int64_t jobs = (task.outputs + column_tile - 1) / column_tile * task.parts;
  for (std::int64_t job = blockIdx.x; job < jobs; job += gridDim.x) {
    const std::int64_t tile = job / task.parts;
    const std::int64_t part = job - tile * task.parts;
    const std::int64_t output = tile * column_tile + x * columns;
    if (output < task.outputs) {
      const auto* first = static_cast<const Element*>(task.data) + offset_of(task.kept, output);
      share_of_columns<C, in_flight>(r, reinterpret_cast<const typename C::Packed*>(first), task.reduced.stride[0] / columns,
                                     part * height + y, task.length, task.parts * height, totals + thread * columns);
    }
    for (int half = height / 2; half > 0; half /= 2) {
      __syncthreads();
      for (int at = thread; at < half * column_tile; at += threads)
        totals[at] = r.merge(totals[at], totals[at + half * column_tile]);
    }
    __syncthreads();
    const std::int64_t mine = tile * column_tile + thread;
    if (thread < column_tile && mine < task.outputs) store_total(task, r, mine, part, totals[thread]);
    __syncthreads();  // the room is used again
  }
}

}  // namespace tutti::kernels::cuda
