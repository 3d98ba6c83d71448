// Where the elements of several operands of the same sizes lie: in as few axes as will do, and in a form that goes to a
// kernel by value.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <type_traits>

#include "tutti/exec/kernel.h"

namespace tutti::kernels::cuda {

// Axes of several operands, innermost first; worked out on the host.
struct Axes {
  static constexpr std::size_t most_operands = 9;

  std::size_t rank = 0;
  std::size_t operands = 0;
  std::array<std::int64_t, most_axes> size;
  std::array<std::array<std::int64_t, most_operands>, most_axes> stride;  // [axis][operand], in elements
  std::array<std::byte*, most_operands> data;
  std::array<std::int64_t, most_operands> element_bytes;
  std::array<std::int64_t, most_operands> lane_step{};  // where into_packs() made packs: between the elements of one

  [[nodiscard]] std::int64_t count() const noexcept {
    std::int64_t n = 1;
    for (std::size_t i = 0; i < rank; ++i) n *= size[i];
    return n;
  }
  // Elements are contiguous in the order of the axes.
  [[nodiscard]] bool is_dense(std::size_t operand) const noexcept { return rank == 0 || (rank == 1 && stride[0][operand] == 1); }
  // Every index and every offset is below 2^31.
  [[nodiscard]] bool fits_32_bits() const noexcept;
};

// Drops axes of size 1 and joins those that step together in every operand. The order is that of the first operand's
// memory, smallest step innermost: for a dense one, row-major order. All have the same sizes; none is 0.
Axes collapse(std::span<const Operand* const> operands) noexcept;

// Calls visit(part) for parts that cover the axes and whose indices and offsets fit 32 bits: the axes themselves, if they do.
template <class Visit>
void for_each_32_bit_part(const Axes& axes, const Visit& visit) {
  if (axes.fits_32_bits()) return visit(axes);
  std::size_t longest = 0;  // halving the axis that reaches furthest soon makes the rest fit
  std::int64_t reach = 0;
  for (std::size_t i = 0; i < axes.rank; ++i) {
    std::int64_t step = 1;
    for (std::size_t k = 0; k < axes.operands; ++k) step = std::max(step, std::abs(axes.stride[i][k]));
    if (axes.size[i] > 1 && axes.size[i] * step >= reach) {
      reach = axes.size[i] * step;
      longest = i;
    }
  }
  Axes first = axes;
  Axes second = axes;
  first.size[longest] = axes.size[longest] / 2;
  second.size[longest] = axes.size[longest] - first.size[longest];
  for (std::size_t k = 0; k < axes.operands; ++k)
    second.data[k] += first.size[longest] * axes.stride[longest][k] * axes.element_bytes[k];
  for_each_32_bit_part(first, visit);
  for_each_32_bit_part(second, visit);
}

// Whether an operand is contiguous along another axis than the first, which is so along the innermost one: that axis
// then comes right behind it.
bool bring_forward_turned(Axes& axes) noexcept;

// Changes the order in which the axes are walked so that what the second operand has to be read again for is still in the
// cache: an axis that repeats more than that comes inside a cut of those before it.
void revisit_soon(Axes& axes) noexcept;

// Makes `width` elements that are contiguous one step of the innermost axis, if the first operand has them contiguous,
// each of the others too or one that stands for all, and all of them are aligned; false where not. With `gathers` the others
// may lie anyhow. Strides stay in elements.
bool into_packs(Axes& axes, std::int64_t width, bool gathers) noexcept;

// Takes elements of half the size or less that are contiguous in every operand together, up to 8 bytes.
void enlarge_elements(Axes& axes) noexcept;

// Division by a number known at launch. Of numbers below 2^31 by one multiplication; otherwise as the compiler has it.
template <class Index>
class Divisor;

template <>
class Divisor<std::uint32_t> {
 public:
  Divisor() = default;
  explicit Divisor(std::int64_t divisor) noexcept
      : divisor_(static_cast<std::uint32_t>(divisor)),
        shift_(static_cast<std::uint32_t>(std::bit_width(divisor_ - 1))),
        multiplier_(static_cast<std::uint32_t>((((std::uint64_t{1} << shift_) - divisor_) << 32U) / divisor_ + 1)) {}
  [[nodiscard]] constexpr std::uint32_t quotient(std::uint32_t n) const noexcept {
    return (static_cast<std::uint32_t>(std::uint64_t{n} * multiplier_ >> 32U) + n) >> shift_;
  }
  [[nodiscard]] constexpr std::uint32_t divisor() const noexcept { return divisor_; }

 private:
  std::uint32_t divisor_;
  std::uint32_t shift_;
  std::uint32_t multiplier_;
};

template <>
class Divisor<std::uint64_t> {
 public:
  Divisor() = default;
  explicit Divisor(std::int64_t divisor) noexcept : divisor_(static_cast<std::uint64_t>(divisor)) {}
  [[nodiscard]] constexpr std::uint64_t quotient(std::uint64_t n) const noexcept { return n / divisor_; }
  [[nodiscard]] constexpr std::uint64_t divisor() const noexcept { return divisor_; }

 private:
  std::uint64_t divisor_;
};

// The same as a kernel takes it. Index is std::uint32_t where fits_32_bits() says so, std::uint64_t otherwise.
template <class Index, std::size_t operands>
struct Layout {
  using Offset = std::make_signed_t<Index>;
  std::uint32_t rank = 0;
  Index count = 0;
  Divisor<Index> size[most_axes];
  Offset stride[most_axes][operands];

  Layout() = default;
  explicit Layout(const Axes& axes) noexcept
      : rank(static_cast<std::uint32_t>(axes.rank)), count(static_cast<Index>(axes.count())) {
    for (std::size_t i = 0; i < axes.rank; ++i) {
      size[i] = Divisor<Index>(axes.size[i]);
      for (std::size_t k = 0; k < operands; ++k) stride[i][k] = static_cast<Offset>(axes.stride[i][k]);
    }
  }
  // Where element `index` of each operand lies, in elements from its first; counted over the axes from `outer` on.
  constexpr void locate(Index index, Offset (&at)[operands], std::uint32_t outer = 0) const noexcept {
    for (std::size_t k = 0; k < operands; ++k) at[k] = 0;
    for (std::uint32_t i = outer; i < most_axes; ++i) {
      if (i >= rank) break;
      const bool is_last = i + 1 == rank;
      const Index above = is_last ? 0 : size[i].quotient(index);
      const auto here = static_cast<Offset>(is_last ? index : index - above * size[i].divisor());
      for (std::size_t k = 0; k < operands; ++k) at[k] += here * stride[i][k];
      index = above;
    }
  }
};

}  // namespace tutti::kernels::cuda
