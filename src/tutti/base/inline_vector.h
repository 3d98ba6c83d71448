// A vector that keeps its first N elements inside itself, so short lists cost no allocation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <vector>

namespace tutti {

template <class T, std::size_t N>
  requires std::is_trivially_copyable_v<T>
class InlineVector {
 public:
  InlineVector() = default;
  InlineVector(std::initializer_list<T> values) {
    for (const T& each : values) push_back(each);
  }

  void push_back(const T& value) {
    if (size_ < N) {
      inline_[size_++] = value;
      return;
    }
    if (size_ == N) spilled_.assign(inline_.begin(), inline_.end());
    spilled_.push_back(value);
    ++size_;
  }
  void clear() noexcept {
    size_ = 0;
    spilled_.clear();
  }
  void resize(std::size_t size) {  // shrinks only
    if (size_ > N && size <= N) {
      std::copy(spilled_.begin(), spilled_.begin() + static_cast<std::ptrdiff_t>(size), inline_.begin());
      spilled_.clear();
    } else if (size_ > N) {
      spilled_.resize(size);
    }
    size_ = size;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] T* data() noexcept { return size_ > N ? spilled_.data() : inline_.data(); }
  [[nodiscard]] const T* data() const noexcept { return size_ > N ? spilled_.data() : inline_.data(); }
  T& operator[](std::size_t i) noexcept { return data()[i]; }
  const T& operator[](std::size_t i) const noexcept { return data()[i]; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  [[nodiscard]] std::span<const T> view() const noexcept { return {data(), size_}; }
  friend bool operator==(const InlineVector& a, const InlineVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<T, N> inline_;
  std::size_t size_ = 0;
  std::vector<T> spilled_;
};

}  // namespace tutti
