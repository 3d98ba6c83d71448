// Running sums and products of columns: matrices of `length` rows, one after the other. A block has a strip of columns, a warp's
// width, and goes down its rows a tile at a time; a thread has a few rows of its columns, one below the other, and reads those of
// the next tile before it writes these. Blocks side by side go down together, so that memory is read by whole rows.
#pragma once

#include "tutti/exec/scan_attributes.h"
#include "tutti/kernels/cuda/lines.cuh"
#include "tutti/kernels/cuda/scanning.cuh"

namespace tutti::kernels::cuda {

inline constexpr int scan_strip_threads = 256;
inline constexpr int scan_strip_warps = scan_strip_threads / warp_lanes;
inline constexpr int scan_strip_rows = 16;  // of a thread: with those of the next tile, what keeps the memory busy

// Columns of a thread.
template <class T>
inline constexpr int scan_strip_width = sizeof(T) < 4 ? 2 : 1;

template <int width, class T>
__device__ __forceinline__ Pack<T, width> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, width>*>(from);
}
template <int width, class T>
__device__ __forceinline__ void store_pack(T* to, const Pack<T, width>& pack) {
  *reinterpret_cast<Pack<T, width>*>(to) = pack;
}
template <int width, class V>
__device__ __forceinline__ Pack<V, 1> load_pack(const TaggedValues<V>& from) {
  return {*from};
}
template <int width, class V>
__device__ __forceinline__ void store_pack(const TaggedValues<V>& to, const Pack<V, 1>& pack) {
  *to = pack.lane[0];
}

template <class R, int width>
__global__ void __launch_bounds__(scan_strip_threads, 2) scan_strips(typename R::From x, typename R::To out, std::int64_t length,
                                                                     std::int64_t columns, std::int64_t strips, int initial) {
  using Part = typename R::Part;
  using Carry = typename R::Carry;
  using In = Pack<typename R::In, width>;
  using Out = Pack<typename R::Out, width>;
  constexpr Joined<R::multiplies> join;
  constexpr Carry nothing = R::multiplies ? 1 : 0;
  constexpr int tile = scan_strip_warps * scan_strip_rows;
  __shared__ Carry of_warps[2][scan_strip_warps][warp_lanes * width];
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  const std::int64_t matrix = blockIdx.x / strips;
  const std::int64_t column = ((blockIdx.x - matrix * strips) * warp_lanes + lane) * width;
  const bool is_column = column < columns;
  const auto from = x + matrix * length * columns + column;
  const auto to = out + (matrix * (length + initial) + initial) * columns + column;
  if (initial != 0 && is_column && warp == 0)
    store_pack<width>(to + -columns, repeat<typename R::Out, width>(value_of_nothing<R>()));
  // The rows of this thread in the tile at `at`: how many, and themselves.
  const auto rows_at = [&](std::int64_t at) {
    const std::int64_t left = length - at - warp * scan_strip_rows;
    return is_column ? static_cast<int>(left < scan_strip_rows ? left : scan_strip_rows) : 0;
  };
  const auto load = [&](std::int64_t at, int rows, In(&into)[scan_strip_rows]) {
    const auto first = from + (at + warp * scan_strip_rows) * columns;
#pragma unroll
    for (int k = 0; k < scan_strip_rows; ++k) {
      if (k < rows) into[k] = load_pack<width>(first + k * columns);
    }
  };
  Carry carry[width];
#pragma unroll
  for (int i = 0; i < width; ++i) carry[i] = nothing;
  In next[scan_strip_rows];
  load(0, rows_at(0), next);
  int turn = 0;  // two rooms: who is a tile ahead leaves the other alone
  for (std::int64_t at = 0; at < length; at += tile, turn = 1 - turn) {
    const int rows = rows_at(at);
    In now[scan_strip_rows];
#pragma unroll
    for (int k = 0; k < scan_strip_rows; ++k) now[k] = next[k];
    if (at + tile < length) load(at + tile, rows_at(at + tile), next);
    Part here[width];
#pragma unroll
    for (int i = 0; i < width; ++i) {
      here[i] = static_cast<Part>(nothing);
#pragma unroll
      for (int k = 0; k < scan_strip_rows; ++k) here[i] = k < rows ? join(here[i], R::part(now[k].lane[i])) : here[i];
      of_warps[turn][warp][i * warp_lanes + lane] = static_cast<Carry>(here[i]);
    }
    __syncthreads();
    Carry before[width];
#pragma unroll
    for (int i = 0; i < width; ++i) {
      before[i] = carry[i];
#pragma unroll
      for (int above = 0; above < scan_strip_warps; ++above) {
        if (above == warp) before[i] = carry[i];
        carry[i] = join(carry[i], of_warps[turn][above][i * warp_lanes + lane]);
      }
      here[i] = static_cast<Part>(nothing);
    }
    const auto first = to + (at + warp * scan_strip_rows) * columns;
#pragma unroll
    for (int k = 0; k < scan_strip_rows; ++k) {
      Out results;
#pragma unroll
      for (int i = 0; i < width; ++i) {
        here[i] = join(here[i], R::part(now[k].lane[i]));
        results.lane[i] = R::finish(before[i], here[i]);
      }
      if (k < rows) store_pack<width>(first + k * columns, results);
    }
  }
}

template <class R>
void scan_columns(std::size_t after, int initial, const typename R::From& x, const typename R::To& out, Queue& queue,
                  const KernelCall& call) {
  const Operand& in = call.in(0);
  const LineShape matrices(in, after + 1);
  const std::int64_t columns = LineShape(in, after).length;
  const std::int64_t length = in.axes[in.rank - 1 - after].size;
  const auto run = [&]<int width>(std::integral_constant<int, width>) {
    const std::int64_t strips = (columns + warp_lanes * width - 1) / (warp_lanes * width);
    const Grid grid{.blocks = dim3(static_cast<unsigned>(matrices.lines * strips)), .threads = dim3(scan_strip_threads)};
    launch<scan_strips<R, width>>(queue, call, grid, x, out, length, columns, strips, initial);
  };
  constexpr int width = scan_strip_width<typename R::In>;
  const auto bytes = sizeof(typename R::In) * width;
  if (columns % width == 0 && is_aligned(in, bytes) && is_aligned(call.out(), bytes))
    return run(std::integral_constant<int, width>{});
  run(std::integral_constant<int, 1>{});
}

}  // namespace tutti::kernels::cuda
