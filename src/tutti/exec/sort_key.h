// Elements as unsigned integers in the order of sorting: NaN above all, -0 equal to +0.
#pragma once

#include <cstdint>

#include "tutti/tensor/dtype_visit.h"

namespace tutti {

enum class Zeros : std::uint8_t { equal, by_sign };

// U: unsigned, of the element's size. Made on the host, used everywhere.
template <class U>
struct SortOrder {
  U sign = 0;  // the bit of the sign; 0: the dtype has none
  U infinity = 0;
  U flip = 0;
  U merged_zero = 0;  // added to -0, whose key is one below that of +0
  bool is_float = false;

  SortOrder() = default;
  SortOrder(DType dtype, bool is_descending, Zeros zeros) noexcept
      : flip(static_cast<U>(is_descending ? ~U{0} : U{0})),
        merged_zero(zeros == Zeros::equal ? 1 : 0),
        is_float(is_floating(dtype)) {
    if (dtype == DType::boolean || dtype == DType::u8) return;
    sign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
    const std::uint64_t bits = dtype == DType::f16    ? 0x7c00U
                               : dtype == DType::bf16 ? 0x7f80U
                               : dtype == DType::f32  ? 0x7f800000U
                                                      : std::uint64_t{0x7ff} << 52U;
    infinity = static_cast<U>(bits);
  }

  [[nodiscard]] constexpr U key(U bits) const noexcept {
    auto k = static_cast<U>(bits ^ sign);
    if (is_float) {
      k = (bits & sign) != 0 ? static_cast<U>(~bits) : k;
      k = static_cast<U>(k + (bits == sign ? merged_zero : U{0}));
      k = is_nan_bits(bits) ? static_cast<U>(~U{0}) : k;
    }
    return static_cast<U>(k ^ flip);
  }
  // Any NaN comes back as the quiet one.
  [[nodiscard]] constexpr U bits(U key) const noexcept {
    const auto k = static_cast<U>(key ^ flip);
    if (!is_float) return static_cast<U>(k ^ sign);
    if (k == static_cast<U>(~U{0})) return static_cast<U>(sign - 1);
    return (k & sign) != 0 ? static_cast<U>(k ^ sign) : static_cast<U>(~k);
  }
  // Of the elements themselves: NaN equals nothing.
  [[nodiscard]] constexpr bool are_equal(U a, U b) const noexcept { return key(a) == key(b) && !(is_float && is_nan_bits(a)); }

 private:
  [[nodiscard]] constexpr bool is_nan_bits(U bits) const noexcept { return static_cast<U>(bits & (sign - 1)) > infinity; }
};

// Calls visit with an unsigned integer of the dtype's size.
template <class Visit>
decltype(auto) visit_sort_width(DType dtype, Visit&& visit) {
  return visit_size(size_of(dtype), visit);
}

}  // namespace tutti
