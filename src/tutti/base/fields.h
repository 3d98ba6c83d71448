// The fields of a plain aggregate, one after the other: what equality, hashes and texts of such structs are made from.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tutti/base/text.h"

namespace tutti {

namespace detail {

struct AnyField {
  template <class T>
  constexpr operator T() const noexcept;  // never defined: asked for in concepts only
};

template <class T, std::size_t... i>
constexpr bool takes_fields(std::index_sequence<i...>) {
  return requires { T{(static_cast<void>(i), AnyField{})...}; };
}

inline constexpr std::size_t most_fields = 16;

template <class T, std::size_t n = most_fields>
constexpr std::size_t count_fields() {
  if constexpr (takes_fields<T>(std::make_index_sequence<n>{})) {
    return n;
  } else {
    static_assert(n > 0, "not an aggregate of up to sixteen fields");
    return count_fields<T, n - 1>();
  }
}

template <class T>
struct IsArray : std::false_type {};
template <class T, std::size_t n>
struct IsArray<std::array<T, n>> : std::true_type {};

template <class T>
concept List = requires(const T& list) {
  list.begin();
  list.end();
};

}  // namespace detail

// References to the fields, in order. T is an aggregate of at most sixteen.
template <class T>
constexpr auto tie_fields(T& value) {
  constexpr std::size_t fields = detail::count_fields<std::remove_const_t<T>>();
  static_assert(fields >= 1);
  if constexpr (fields == 1) {
    auto& [a] = value;
    return std::tie(a);
  } else if constexpr (fields == 2) {
    auto& [a, b] = value;
    return std::tie(a, b);
  } else if constexpr (fields == 3) {
    auto& [a, b, c] = value;
    return std::tie(a, b, c);
  } else if constexpr (fields == 4) {
    auto& [a, b, c, d] = value;
    return std::tie(a, b, c, d);
  } else if constexpr (fields == 5) {
    auto& [a, b, c, d, e] = value;
    return std::tie(a, b, c, d, e);
  } else if constexpr (fields == 6) {
    auto& [a, b, c, d, e, f] = value;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (fields == 7) {
    auto& [a, b, c, d, e, f, g] = value;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (fields == 8) {
    auto& [a, b, c, d, e, f, g, h] = value;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (fields == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = value;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (fields == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (fields == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (fields == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (fields == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (fields == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  } else if constexpr (fields == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
  }
}

// The words a value is made of, in order: numbers (floats by their bits), lists with their sizes, aggregates by their fields.
template <class T, class F>
void each_word(const T& value, F&& f) {
  if constexpr (std::is_pointer_v<T>) {
    f(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(value)));
  } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
    f(static_cast<std::uint64_t>(value));
  } else if constexpr (std::same_as<T, double>) {
    f(std::bit_cast<std::uint64_t>(value));
  } else if constexpr (std::same_as<T, float>) {
    f(std::uint64_t{std::bit_cast<std::uint32_t>(value)});
  } else if constexpr (detail::List<T>) {
    if constexpr (!detail::IsArray<T>::value) f(static_cast<std::uint64_t>(value.size()));
    for (const auto& each : value) each_word(each, f);
  } else {
    std::apply([&](const auto&... field) { (each_word(field, f), ...); }, tie_fields(value));
  }
}

// Floats by their bits.
template <class T>
bool have_equal_fields(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
  } else if constexpr (std::is_scalar_v<T>) {
    return a == b;
  } else if constexpr (detail::List<T>) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return have_equal_fields(x, y); });
  } else {
    const auto all = [&]<std::size_t... i>(const auto& x, const auto& y, std::index_sequence<i...>) {
      return (have_equal_fields(std::get<i>(x), std::get<i>(y)) && ...);
    };
    return all(tie_fields(a), tie_fields(b), std::make_index_sequence<detail::count_fields<T>()>{});
  }
}

template <class T>
std::size_t hash_of_fields(const T& value) {
  std::uint64_t hash = 0x9E3779B97F4A7C15U;
  each_word(value, [&](std::uint64_t word) {
    hash = (hash ^ word) * 0xFF51AFD7ED558CCDU;
    hash ^= hash >> 32U;
  });
  return static_cast<std::size_t>(hash);
}

// "(1, 0.5, [2, 3], true)"
template <class T>
std::string text_of_fields(const T& value) {
  if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_pointer_v<T>) {
    return value == nullptr ? "null" : "pointer";
  } else if constexpr (std::is_enum_v<T>) {
    return text(static_cast<std::int64_t>(value));
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) {
      return text(static_cast<std::int64_t>(value));
    } else {
      return text(static_cast<std::uint64_t>(value));
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    return text(value);
  } else {
    constexpr bool is_list = detail::List<T>;
    std::string out;
    const auto add = [&](const auto& each) { out += (out.empty() ? "" : ", ") + text_of_fields(each); };
    if constexpr (is_list) {
      for (const auto& each : value) add(each);
    } else {
      std::apply([&](const auto&... field) { (add(field), ...); }, tie_fields(value));
    }
    return (is_list ? "[" : "(") + out + (is_list ? "]" : ")");
  }
}

}  // namespace tutti
