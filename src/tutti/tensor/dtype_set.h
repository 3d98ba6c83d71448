// A set of dtypes: what an op is defined for, what a backend's kernel takes.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>

#include "tutti/tensor/dtype.h"

namespace tutti {

class DTypes {
 public:
  constexpr DTypes() noexcept = default;
  constexpr DTypes(std::initializer_list<DType> dtypes) noexcept {
    for (const DType dtype : dtypes) bits = static_cast<std::uint16_t>(bits | bit(dtype));
  }
  [[nodiscard]] constexpr bool contains(DType dtype) const noexcept { return (bits & bit(dtype)) != 0; }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits == 0; }
  // The set must not be empty.
  [[nodiscard]] constexpr DType first() const noexcept { return static_cast<DType>(std::countr_zero(bits)); }
  friend constexpr DTypes operator|(DTypes a, DTypes b) noexcept { return DTypes(a.bits | b.bits); }
  friend constexpr DTypes operator&(DTypes a, DTypes b) noexcept { return DTypes(a.bits & b.bits); }
  friend constexpr bool operator==(DTypes a, DTypes b) noexcept = default;

  std::uint16_t bits = 0;  // public, so that a set may be a template's argument

 private:
  constexpr explicit DTypes(int all) noexcept : bits(static_cast<std::uint16_t>(all)) {}
  static constexpr unsigned bit(DType dtype) noexcept { return 1U << static_cast<unsigned>(dtype); }
};

inline constexpr DTypes boolean_dtype{DType::boolean};
inline constexpr DTypes signed_integers{DType::i8, DType::i16, DType::i32, DType::i64};
inline constexpr DTypes integer_dtypes = signed_integers | DTypes{DType::u8};
inline constexpr DTypes half_dtypes{DType::f16, DType::bf16};
inline constexpr DTypes wide_floats{DType::f32, DType::f64};
inline constexpr DTypes floating_dtypes = half_dtypes | wide_floats;
inline constexpr DTypes numeric_dtypes = integer_dtypes | floating_dtypes;
inline constexpr DTypes index_dtypes{DType::i32, DType::i64};
inline constexpr DTypes any_dtype = numeric_dtypes | boolean_dtype;

// "floating dtypes", "bool and integer dtypes", or one by one.
std::string to_string(DTypes dtypes);
std::ostream& operator<<(std::ostream& out, DTypes dtypes);

}  // namespace tutti
