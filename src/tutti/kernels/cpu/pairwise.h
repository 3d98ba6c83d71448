// Adds a long list in pairs of equal weight, so that the rounding error grows with the logarithm of its length.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tutti::kernels {

// Integers wrap.
template <class T>
T wrapping_add(T a, T b) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  } else {
    return a + b;
  }
}

// Like a binary counter: two sums of 2^k terms become one of 2^(k + 1).
template <class T>
class PairwiseSum {
 public:
  void push(T value) noexcept {
    std::size_t level = 0;
    for (std::uint64_t n = pushed_++; (n & 1U) != 0; n >>= 1U) value = wrapping_add(levels_[level++], value);
    levels_[level] = value;
  }
  [[nodiscard]] T total() const noexcept {
    T sum{0};
    bool is_first = true;
    std::size_t level = 0;
    for (std::uint64_t n = pushed_; n != 0; n >>= 1U, ++level) {
      if ((n & 1U) == 0) continue;
      sum = is_first ? levels_[level] : wrapping_add(levels_[level], sum);
      is_first = false;
    }
    return sum;
  }

 private:
  std::uint64_t pushed_ = 0;
  std::array<T, 64> levels_;
};

}  // namespace tutti::kernels
