// Merges a long list of states in pairs of equal weight, so that the rounding error grows with the logarithm of its length.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tutti/kernels/cpu/reduction_rows.h"

namespace tutti::kernels {

// The states of up to `room` / planes reductions at a time. Like a binary counter: two of 2^k pushes become one of 2^(k + 1).
template <class T, std::size_t room, std::size_t depth>
class Pairwise {
 public:
  Pairwise(const ReductionRows<T>& rows, std::size_t count) noexcept : rows_(rows), count_(count) {}

  // `weight`: how many elements each of them stands for.
  void push(States<const T> states, double weight) noexcept {
    alignas(64) std::array<T, room> carry;
    States<const T> current = states;
    std::size_t level = 0;
    for (std::uint64_t n = pushed_++; (n & 1U) != 0; n >>= 1U, ++level) {
      rows_.merge(at(level), weights_[level], current, weight, {carry.data(), count_}, count_);
      weight += weights_[level];
      current = {carry.data(), count_};
    }
    weights_[level] = weight;
    copy(current, {levels_[level].data(), count_});
  }

  // Of one push or more.
  void total(States<T> result) const noexcept {
    double weight = 0;
    std::size_t level = 0;
    for (std::uint64_t n = pushed_; n != 0; n >>= 1U, ++level) {
      if ((n & 1U) == 0) continue;
      if (weight == 0) {
        copy(at(level), result);
      } else {
        rows_.merge(at(level), weights_[level], {result.first, result.step}, weight, result, count_);
      }
      weight += weights_[level];
    }
  }

 private:
  [[nodiscard]] States<const T> at(std::size_t level) const noexcept { return {levels_[level].data(), count_}; }
  void copy(States<const T> from, States<T> to) const noexcept {
    std::copy_n(from.first, count_, to.first);
    if (rows_.planes == 2) std::copy_n(from.first + from.step, count_, to.first + to.step);
  }

  const ReductionRows<T>& rows_;
  std::size_t count_;
  std::uint64_t pushed_ = 0;
  std::array<double, depth> weights_;
  std::array<std::array<T, room>, depth> levels_;
};

}  // namespace tutti::kernels
