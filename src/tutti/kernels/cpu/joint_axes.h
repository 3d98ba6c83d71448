// The axes of an element-wise op's operands together, so that one walk leads through all of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tutti/exec/kernel.h"

namespace tutti::kernels {

// Axes of size 1 are left out; neighbours that every operand steps through alike are joined. Strides in bytes, the output's
// after those of the inputs. At least one axis.
struct JointAxes {
  static constexpr std::size_t most_operands = 4;
  using Addresses = std::array<std::byte*, most_operands>;
  struct Joint {
    std::int64_t size = 1;
    std::array<std::int64_t, most_operands> strides{};
  };

  std::size_t operands;
  std::size_t rank = 0;
  std::array<Joint, most_axes> axes;

  explicit JointAxes(const KernelCall& call) noexcept : operands(std::size_t{call.inputs} + 1) {
    const Operand& out = call.out();
    for (std::size_t i = 0; i < out.rank; ++i) {
      if (out.axes[i].size == 1) continue;
      Joint axis{out.axes[i].size, {}};
      bool joins = rank > 0;
      for (std::size_t k = 0; k < operands; ++k) {
        const Operand& operand = call.operands[k];
        const bool is_still = operand.is_immediate || operand.rank == 0;
        axis.strides[k] = is_still ? 0 : operand.axes[i].stride * static_cast<std::int64_t>(size_of(operand.dtype));
        joins = joins && axes[rank - 1].strides[k] == axis.strides[k] * axis.size;
      }
      if (joins) axis.size *= axes[--rank].size;
      axes[rank++] = axis;
    }
    if (rank == 0) axes[rank++] = Joint{};
  }

  [[nodiscard]] const Joint& inner() const noexcept { return axes[rank - 1]; }

  // Where a walk over the first axes stands.
  struct Place {
    Addresses addresses;
    std::array<std::int64_t, most_axes> index;
  };

  // The position with that number, counted over the first `outer` axes.
  [[nodiscard]] Place place(const Addresses& start, std::int64_t number, std::size_t outer) const noexcept {
    Place at;
    at.addresses = start;
    for (std::size_t i = outer; i-- > 0;) {
      at.index[i] = number % axes[i].size;
      number /= axes[i].size;
      for (std::size_t k = 0; k < operands; ++k) at.addresses[k] += at.index[i] * axes[i].strides[k];
    }
    return at;
  }
  // The one after it.
  void advance(Place& at, std::size_t outer) const noexcept {
    for (std::size_t i = outer; i-- > 0;) {
      const bool is_last = ++at.index[i] == axes[i].size;
      const std::int64_t steps = is_last ? 1 - axes[i].size : 1;
      for (std::size_t k = 0; k < operands; ++k) at.addresses[k] += steps * axes[i].strides[k];
      if (!is_last) return;
      at.index[i] = 0;
    }
  }
};

}  // namespace tutti::kernels
