// Padding by one kernel that writes the output from its first to its last pack.
#pragma once

#include <array>

#include "tutti/exec/manipulation_attributes.h"
#include "tutti/kernels/cuda/runs.cuh"

namespace tutti::kernels::cuda {

// An axis of the output and the part of it that the input fills.
struct PaddedAxis {
  std::int64_t size;  // of the output
  std::int64_t before;
  std::int64_t inside;
  std::int64_t stride;  // of the input
};

// Innermost first, as few as will do: one that is not padded goes into the next.
struct PaddedAxes {
  std::size_t rank = 0;
  std::array<PaddedAxis, most_axes> axes{};

  PaddedAxes(const Operand& x, const PadAttributes& widths) noexcept {
    for (std::size_t i = x.rank; i-- > 0;) {
      const std::int64_t inside = x.axes[i].size;
      const PaddedAxis next{widths.before[i] + inside + widths.after[i], widths.before[i], inside, x.axes[i].stride};
      if (next.size == 1 && inside == 1) continue;
      if (rank > 0) {
        PaddedAxis& last = axes[rank - 1];
        if (last.size == last.inside && next.stride == last.stride * last.size) {
          last = {next.size * last.size, next.before * last.size, next.inside * last.size, last.stride};
          continue;
        }
      }
      axes[rank++] = next;
    }
  }
};

// The same as a kernel takes it.
template <class U>
struct PadTask {
  U* out;
  const U* from;
  const U* value;  // null where it is `number`
  U number;
  Span<U> span;
  std::uint32_t count;
  std::uint32_t rank;
  Divisor<std::uint32_t> size[most_axes];
  std::int32_t before[most_axes];
  std::uint32_t inside[most_axes];
  std::int32_t stride[most_axes];
};

// Where the element `index` of the output lies along the innermost axis of the input, which may be outside of it, and where
// the line begins that it is in; no line where the other axes are outside.
struct PadPlace {
  std::int32_t at;
  std::int32_t line;
  bool has_line;
};
template <class U>
__device__ __forceinline__ PadPlace place_of(const PadTask<U>& task, std::uint32_t index) {
  std::uint32_t above = task.rank > 1 ? task.size[0].quotient(index) : 0;
  std::uint32_t line = 0;  // outside of the input it may wrap
  PadPlace place{static_cast<std::int32_t>(index - above * task.size[0].divisor()) - task.before[0], 0, true};
  for (std::uint32_t i = 1; i < most_axes; ++i) {
    if (i >= task.rank) break;
    index = above;
    above = i + 1 == task.rank ? 0 : task.size[i].quotient(index);
    const std::uint32_t here = index - above * task.size[i].divisor() - static_cast<std::uint32_t>(task.before[i]);
    line += here * static_cast<std::uint32_t>(task.stride[i]);
    place.has_line = place.has_line && here < task.inside[i];
  }
  place.line = static_cast<std::int32_t>(line);
  return place;
}

// A thread has a pack of the output. Most lie within a line of the input or outside of all lines; the others are put together by
// element.
template <class U, int step>
__global__ void __launch_bounds__(run_threads) pad_kernel(const __grid_constant__ PadTask<U> task) {
  constexpr std::uint32_t width = pack_width<U>;
  const std::uint32_t index = (blockIdx.x * run_threads + threadIdx.x) * width;
  const auto inside = static_cast<std::int32_t>(task.inside[0]);
  const auto padding = [&] { return task.value == nullptr ? task.number : *task.value; };
  if (index + width <= task.count) {
    const PadPlace place = place_of(task, index);
    const std::int32_t end = place.at + static_cast<std::int32_t>(width);
    Run<U, step> run;
    if (place.has_line && place.at >= 0 && end <= inside && run.load(task.from + (place.line + place.at * step), task.span)) {
      *reinterpret_cast<uint4*>(task.out + index) = run.pack();
      return;
    }
    const bool is_one_line = end + task.before[0] <= static_cast<std::int32_t>(task.size[0].divisor());
    if (is_one_line && (!place.has_line || end <= 0 || place.at >= inside)) {
      *reinterpret_cast<uint4*>(task.out + index) = held(repeat<U, pack_width<U>>(padding()));
      return;
    }
  }
#pragma unroll 1
  for (std::uint32_t i = index; i < min(index + width, task.count); ++i) {
    const PadPlace place = place_of(task, i);
    const bool is_in = place.has_line && place.at >= 0 && place.at < inside;
    task.out[i] = is_in ? task.from[place.line + place.at * step] : padding();
  }
}

}  // namespace tutti::kernels::cuda
