// Sizes and strides of a tensor: up to eight axes, held in place.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "tutti/base/site.h"

namespace tutti {

inline constexpr std::size_t most_axes = 8;

namespace detail {
// A vector, a span, an array of integers: sizes or axes known only at run time. Not of characters.
template <class T>
concept IntegerList = requires(const T& values) {
  std::size(values);
  requires std::integral<std::remove_cvref_t<decltype(*std::data(values))>>;
  requires sizeof(*std::data(values)) >= sizeof(int);
};

// A place in a list; a negative one counts from the end. Remembers the caller's line.
class Place {
 public:
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Place(T i, Site site = {}) noexcept : number_(static_cast<std::int64_t>(i)), is_from_end_(std::cmp_less(i, 0)), site_(site) {}
  [[nodiscard]] std::uint64_t in(std::size_t size) const noexcept {
    return static_cast<std::uint64_t>(number_) + (is_from_end_ ? size : 0);
  }
  [[nodiscard]] std::int64_t number() const noexcept { return number_; }
  [[nodiscard]] bool is_from_end() const noexcept { return is_from_end_; }
  [[nodiscard]] Site site() const noexcept { return site_; }

 private:
  std::int64_t number_;
  bool is_from_end_;
  Site site_;
};
}  // namespace detail

// A list of up to eight numbers: sizes, strides, axes. More than eight throw ShapeError where they are written. As in NumPy one
// number is a list of one: zeros(3), sum(x, -1).
class Dims {
 public:
  Dims() noexcept = default;
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Dims(T value) noexcept : size_(1) {
    values_[0] = static_cast<std::int64_t>(value);
  }
  Dims(std::initializer_list<std::int64_t> values, Site site = {}) : Dims(std::span(values.begin(), values.size()), site) {}
  Dims(std::span<const std::int64_t> values, Site site = {});
  template <detail::IntegerList T>
  Dims(const T& values, Site site = {}) {
    for (const auto value : std::span(std::data(values), std::size(values))) push_back(static_cast<std::int64_t>(value), site);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  // Negative ones count from the end. Throw ShapeError where there is none.
  std::int64_t& operator[](detail::Place i) { return values_[checked(i)]; }
  std::int64_t operator[](detail::Place i) const { return values_[checked(i)]; }
  void push_back(std::int64_t value, Site site = {}) {
    if (size_ == most_axes) [[unlikely]]
      raise_too_many(site);
    values_[size_++] = value;
  }
  [[nodiscard]] const std::int64_t* begin() const noexcept { return values_.data(); }
  [[nodiscard]] const std::int64_t* end() const noexcept { return values_.data() + size_; }
  // Not checked.
  [[nodiscard]] std::span<const std::int64_t> view() const noexcept { return {values_.data(), size_}; }
  friend bool operator==(const Dims& a, const Dims& b) noexcept {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i) {
      if (a.values_[i] != b.values_[i]) return false;
    }
    return true;
  }
  // As to_string.
  friend std::ostream& operator<<(std::ostream& out, const Dims& dims);

 private:
  [[nodiscard]] std::size_t checked(const detail::Place& place) const {
    const std::uint64_t i = place.in(size_);
    if (i >= size_) [[unlikely]]
      raise_no_place(place);
    return static_cast<std::size_t>(i);
  }
  [[noreturn]] void raise_no_place(detail::Place asked) const;
  [[noreturn]] static void raise_too_many(Site site);

  std::array<std::int64_t, most_axes> values_;
  std::uint8_t size_ = 0;
};

using Shape = Dims;

// "(2, 3)", "(5,)", "()": as Python prints a tuple.
std::string to_string(const Dims& dims);
std::string to_string(std::integral auto) = delete;  // a number is no shape

// Number of elements; nothing when a size is negative or the product does not fit in 63 bits. An axis of size 0 saves no
// other: like NumPy, so that strides and products of any axes fit too.
std::optional<std::int64_t> element_count(const Shape& shape) noexcept;

// Strides, in elements, of a dense tensor in row-major order.
Dims dense_strides(const Shape& shape) noexcept;

// The common shape of two, by NumPy's rule; nothing when they do not match.
std::optional<Shape> broadcast(const Shape& a, const Shape& b) noexcept;

}  // namespace tutti
