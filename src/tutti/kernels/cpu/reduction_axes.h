// How a reduction's input is taken apart: axes that stay, axes that go, and the work over the cores.
#pragma once

#include <algorithm>
#include <array>

#include "tutti/kernels/cpu/ranges.h"

namespace tutti::kernels {

inline constexpr std::int64_t most_segments = 256;

inline std::int64_t magnitude(std::int64_t x) { return x < 0 ? -x : x; }

struct AxisList {
  std::array<Axis, most_axes> axes;
  std::size_t size = 0;

  void push_back(const Axis& axis) { axes[size++] = axis; }
  [[nodiscard]] bool empty() const { return size == 0; }
  [[nodiscard]] const Axis& back() const { return axes[size - 1]; }
  [[nodiscard]] auto begin() { return axes.begin(); }
  [[nodiscard]] auto end() { return axes.begin() + static_cast<std::ptrdiff_t>(size); }
  [[nodiscard]] auto begin() const { return axes.begin(); }
  [[nodiscard]] auto end() const { return axes.begin() + static_cast<std::ptrdiff_t>(size); }
};

// The input's axes, those of size 1 left out, sorted into kept (in order) and reduced (far strides first, all forward).
struct Split {
  Operand operand;  // only dtype and data, which points at the first element once all reduced axes run forward
  AxisList kept;
  AxisList reduced;
  std::int64_t n_kept = 1;
  std::int64_t n_reduced = 1;

  Split(const Operand& in, std::uint32_t mask) : operand(in) {
    for (std::size_t i = 0; i < in.rank; ++i) {
      Axis axis = in.axes[i];
      const bool is_reduced = (mask >> i & 1U) != 0;
      (is_reduced ? n_reduced : n_kept) *= axis.size;
      if (axis.size == 1) continue;
      if (is_reduced && axis.stride < 0 && axis.size > 0) {
        operand.data += (axis.size - 1) * axis.stride * static_cast<std::int64_t>(size_of(in.dtype));
        axis.stride = -axis.stride;
      }
      (is_reduced ? reduced : kept).push_back(axis);
    }
    std::sort(reduced.begin(), reduced.end(), [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  }

  // Elements next to each other in memory belong to different reductions.
  [[nodiscard]] bool kept_axis_is_inner() const {
    if (kept.empty() || reduced.empty()) return false;
    return magnitude(kept.back().stride) != 0 && magnitude(kept.back().stride) < reduced.back().stride;
  }

  [[nodiscard]] Operand joined(const AxisList& first, const AxisList& then) const {
    Operand all = operand;
    all.rank = static_cast<std::uint8_t>(first.size + then.size);
    std::copy(then.begin(), then.end(), std::copy(first.begin(), first.end(), all.axes.begin()));
    return all;
  }
};

// Runs body(i) for i in 0 ... count, in the caller when there is little to do.
template <class Body>
void for_each(Parallel& parallel, std::int64_t count, std::int64_t elements, Body&& body) {
  if (elements < serial_elements || parallel.width() == 1 || count == 1) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  const std::int64_t chunks = std::min(count, static_cast<std::int64_t>(parallel.width()) * 8);
  parallel.for_each_chunk(static_cast<std::size_t>(chunks), [&](std::size_t chunk) {
    const auto c = static_cast<std::int64_t>(chunk);
    for (std::int64_t i = count * c / chunks; i < count * (c + 1) / chunks; ++i) body(i);
  });
}

}  // namespace tutti::kernels
