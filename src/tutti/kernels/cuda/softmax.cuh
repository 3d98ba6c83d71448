// The kernels behind softmax and log_softmax.
#pragma once

#include "tutti/kernels/cuda/exp_sum.cuh"
#include "tutti/kernels/cuda/softmax.h"

namespace tutti::kernels::cuda {

template <class T, class Kernel>
__global__ void __launch_bounds__(Kernel::is_block ? most_line_threads : lane_line_threads)
    softmax_lines(const T* x, T* out, std::int64_t lines, int length, int lanes, bool is_log) {
  using W = Working<T>;
  const LineGroup<Kernel::is_block> group{lanes};
  const std::int64_t line = group.line();
  const bool is_line = line < lines;
  LineShare<T, Kernel::width, Kernel::packs> share;
  share.load(group, x + line * length, length, is_line, static_cast<W>(-INFINITY));
  W largest = -INFINITY;
  share.each(group, length, [&](W& v, int) { largest = Largest{}(largest, v); });
  largest = group.largest(largest);
  W sum = 0;
  share.each(group, length, [&](W& v, int) {
    const W power = exponential<W>(v - largest);
    v = is_log ? v - largest : power;
    sum += power;
  });
  const double total = group.sum(sum);
  const W last = is_log ? logarithm<W>(total) : W{1} / static_cast<W>(total);
  share.each(group, length, [&](W& v, int) { v = is_log ? v - last : v * last; });
  if (is_line) share.store(group, out + line * length, length);
}

template <class T, int width>
__global__ void __launch_bounds__(part_threads)
    finish_softmax(const T* x, T* out, LineParts parts, std::int64_t length, const ExpPart* sums, bool is_log) {
  using W = Working<T>;
  const std::int64_t line = blockIdx.x / parts.count;
  const std::int64_t begin = (blockIdx.x - line * parts.count) * parts.length;
  const ExpPart whole = join_exp_parts(sums + line * parts.count, parts.count);
  const W largest = static_cast<W>(whole.largest);
  const W last = is_log ? logarithm<W>(whole.sum) : W{1} / static_cast<W>(whole.sum);
  for_each_pack<width>(x + line * length, begin, earlier(begin + parts.length, length),
                       [&](const Pack<T, width>& pack, std::int64_t at) {
                         Pack<T, width> result;
#pragma unroll
                         for (int i = 0; i < width; ++i) {
                           const W apart = widen(pack.lane[i]) - largest;
                           result.lane[i] = narrow<T>(is_log ? apart - last : exponential<W>(apart) * last);
                         }
                         *reinterpret_cast<Pack<T, width>*>(out + line * length + at) = result;
                       });
}

template <class T>
void run_softmax(const KernelCall& call, Queue& queue, bool is_log) {
  const LineShape shape(call.in(0));
  if (shape.lines == 0 || shape.length == 0) return;
  const T* x = call.in(0).as<T>();
  T* out = call.out().as<T>();
  const bool packed = is_packed<T>(shape, call.in(0)) && is_aligned(call.out(), pack_bytes);
  const bool is_held = with_line_kernel<T>(shape, packed, [&]<class Kernel>(Kernel, const Grid& grid, int lanes) {
    launch<softmax_lines<T, Kernel>>(queue, call, grid, x, out, shape.lines, shape.length, lanes, is_log);
  });
  if (is_held) return;
  const ExpPart* sums = launch_exp_sums<T>(shape, packed, queue, call);
  const LineParts parts(shape.length);
  if (packed) {
    launch<finish_softmax<T, pack_width<T>>>(queue, call, grid_of_parts(shape), x, out, parts, shape.length, sums, is_log);
  } else {
    launch<finish_softmax<T, 1>>(queue, call, grid_of_parts(shape), x, out, parts, shape.length, sums, is_log);
  }
}

}  // namespace tutti::kernels::cuda
