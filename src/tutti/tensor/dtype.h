// The ten element types and what is known about each.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <string_view>

namespace tutti {

enum class DType : std::uint8_t { boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64 };
inline constexpr std::size_t dtype_count = 10;

enum class DTypeKind : std::uint8_t { boolean, integer, floating };

// Half precision, IEEE 754 binary16. Stored and converted only; arithmetic is done in float.
struct f16 {
  std::uint16_t bits = 0;
  f16() = default;
  explicit f16(float value) noexcept;
  explicit operator float() const noexcept;
};

// The upper half of a float.
struct bf16 {
  std::uint16_t bits = 0;
  bf16() = default;
  explicit bf16(float value) noexcept;
  explicit operator float() const noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }
};

inline bf16::bf16(float value) noexcept {
  const auto raw = std::bit_cast<std::uint32_t>(value);
  if ((raw & 0x7fffffffU) > 0x7f800000U) {  // NaN stays a NaN, quiet
    bits = static_cast<std::uint16_t>((raw >> 16U) | 0x40U);
    return;
  }
  bits = static_cast<std::uint16_t>((raw + 0x7fffU + ((raw >> 16U) & 1U)) >> 16U);  // to nearest, ties to even
}

inline f16::operator float() const noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = bits & 0x7fffU;
  if (magnitude >= 0x7c00U) return std::bit_cast<float>(sign | 0x7f800000U | (magnitude & 0x3ffU) << 13U);
  if (magnitude >= 0x400U) return std::bit_cast<float>(sign | ((magnitude << 13U) + 0x38000000U));
  const float small = static_cast<float>(magnitude) * 0x1p-24F;  // subnormal: exact
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(small));
}

inline f16::f16(float value) noexcept {
  const auto raw = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((raw >> 16U) & 0x8000U);
  const std::uint32_t magnitude = raw & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {
    bits = static_cast<std::uint16_t>(sign | 0x7e00U);
  } else if (magnitude >= 0x47800000U) {  // 65536 and above; what rounds up to it is handled below
    bits = static_cast<std::uint16_t>(sign | 0x7c00U);
  } else if (magnitude < 0x38800000U) {  // subnormal: adding a half's worth of exponent rounds in the right place
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    bits = static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
  } else {
    const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13U) & 1U);
    bits = static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13U));
  }
}

namespace detail {
struct DTypeRow {
  std::string_view name;
  std::size_t size;
  DTypeKind kind;
};
inline constexpr std::array<DTypeRow, dtype_count> dtype_rows{{
    {"bool", 1, DTypeKind::boolean},
    {"uint8", 1, DTypeKind::integer},
    {"int8", 1, DTypeKind::integer},
    {"int16", 2, DTypeKind::integer},
    {"int32", 4, DTypeKind::integer},
    {"int64", 8, DTypeKind::integer},
    {"float16", 2, DTypeKind::floating},
    {"bfloat16", 2, DTypeKind::floating},
    {"float32", 4, DTypeKind::floating},
    {"float64", 8, DTypeKind::floating},
}};
}  // namespace detail

constexpr std::size_t size_of(DType dtype) noexcept { return detail::dtype_rows[static_cast<std::size_t>(dtype)].size; }
constexpr std::string_view to_string(DType dtype) noexcept { return detail::dtype_rows[static_cast<std::size_t>(dtype)].name; }
// Its name.
std::ostream& operator<<(std::ostream& out, DType dtype);
constexpr DTypeKind kind_of(DType dtype) noexcept { return detail::dtype_rows[static_cast<std::size_t>(dtype)].kind; }
constexpr bool is_floating(DType dtype) noexcept { return kind_of(dtype) == DTypeKind::floating; }

// The C++ type that stands for a dtype, both ways.
template <class T>
struct DTypeOf;
// clang-format off
template <> struct DTypeOf<bool> { static constexpr DType value = DType::boolean; };
template <> struct DTypeOf<std::uint8_t> { static constexpr DType value = DType::u8; };
template <> struct DTypeOf<std::int8_t> { static constexpr DType value = DType::i8; };
template <> struct DTypeOf<std::int16_t> { static constexpr DType value = DType::i16; };
template <> struct DTypeOf<std::int32_t> { static constexpr DType value = DType::i32; };
template <> struct DTypeOf<std::int64_t> { static constexpr DType value = DType::i64; };
template <> struct DTypeOf<long long> { static constexpr DType value = DType::i64; };
template <> struct DTypeOf<f16> { static constexpr DType value = DType::f16; };
template <> struct DTypeOf<bf16> { static constexpr DType value = DType::bf16; };
template <> struct DTypeOf<float> { static constexpr DType value = DType::f32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::f64; };
// clang-format on

template <class T>
concept Element = requires { DTypeOf<T>::value; };
template <Element T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

// The dtype both fit: the Python array API's table; where that is silent an integer with a float gives the float, and
// two different half precisions give f32.
DType promote(DType a, DType b) noexcept;

}  // namespace tutti
