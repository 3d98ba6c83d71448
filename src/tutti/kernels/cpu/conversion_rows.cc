#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "tutti/kernels/cpu/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/conversion_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// Plain loops that the compiler vectorises for the instruction set at hand. A bool is read as its byte.
template <class T>
struct StoredAs {
  using Type = T;
};
template <>
struct StoredAs<bool> {
  using Type = std::uint8_t;
};

template <class To, class From>
HWY_INLINE typename StoredAs<To>::Type convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return static_cast<std::uint8_t>(x != From{0});
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr To least = std::numeric_limits<To>::min();
    constexpr To most = std::numeric_limits<To>::max();
    // One more than the largest To is a power of two, so exact; the largest From below it converts without overflow.
    constexpr From beyond = static_cast<From>((static_cast<std::uint64_t>(most) >> 1U) + 1) * From{2};
    constexpr int digits = std::numeric_limits<From>::digits;
    constexpr int bits = std::numeric_limits<To>::digits;
    constexpr From below = bits > digits ? beyond - static_cast<From>(std::uint64_t{1} << (bits > digits ? bits - digits : 0))
                                         : static_cast<From>(most);
    const From low = x > static_cast<From>(least) ? x : static_cast<From>(least);  // NaN becomes the least
    const From limited = low < below ? low : below;
    const To truncated = static_cast<To>(limited);
    const To saturated = x >= beyond ? most : truncated;
    return x == x ? saturated : To{0};
  } else {
    return static_cast<To>(x);
  }
}

// A bool byte as 0 or 1, whatever its bits.
template <class From>
HWY_INLINE typename StoredAs<From>::Type normal(typename StoredAs<From>::Type x) {
  if constexpr (std::is_same_v<From, bool>) {
    return static_cast<std::uint8_t>(x != 0);
  } else {
    return x;
  }
}

template <class From, class To>
void convert_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  using FromStored = typename StoredAs<From>::Type;
  using ToStored = typename StoredAs<To>::Type;
  const auto* input = static_cast<const FromStored*>(inputs[0]);
  auto* output = static_cast<ToStored*>(out);
  if ((singles & 1U) != 0) {
    std::fill_n(output, count, convert<To>(normal<From>(*input)));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) output[i] = convert<To>(normal<From>(input[i]));
}

// The compiler makes more of the limits than they need.
void f32_to_i32_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  if ((singles & 1U) != 0) return convert_row<float, std::int32_t>(inputs, singles, out, count);
  using D = Tag<float>;
  using To = hn::RebindToSigned<D>;
  const auto converted = [](hn::Vec<D> x) {
    return hn::IfThenElseZero(hn::RebindMask(To(), hn::Eq(x, x)), hn::ConvertTo(To(), x));
  };
  Source<D> in(inputs[0]);
  const Sink<To> output(out);
  const std::size_t lanes = hn::Lanes(D());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes, in.advance()) output.put(converted(in.load()), i);
  if (i < count) output.put(converted(in.load(count - i)), i, count - i);
}

// Cuts x off towards zero and marks what was lost in the lowest bit.
HWY_INLINE float to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || x != x) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(x)) --bits;
  return std::bit_cast<float>(bits | 1U);
}
HWY_INLINE float to_odd(std::int32_t x) { return to_odd(static_cast<double>(x)); }
HWY_INLINE float to_odd(std::int64_t x) {
  std::uint64_t size = x < 0 ? ~static_cast<std::uint64_t>(x) + 1 : static_cast<std::uint64_t>(x);
  // A double holds 53 bits: where there may be more, the lowest eleven are folded into one that says whether any was set.
  if (size >> 53U != 0) size = (size & ~std::uint64_t{0x7ff}) | ((size & 0x7ff) != 0 ? 0x400U : 0U);
  const auto exact = static_cast<double>(size);
  return to_odd(x < 0 ? -exact : exact);
}

template <class From>
void to_odd_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  const auto* input = static_cast<const From*>(inputs[0]);
  auto* output = static_cast<float*>(out);
  for (std::size_t i = 0; i < count; ++i) output[i] = to_odd(input[(singles & 1U) != 0 ? 0 : i]);
}

template <class From>
void fill_from(std::array<Row, dtype_count>& to) {
  const auto at = [&to](DType dtype) -> Row& { return to[static_cast<std::size_t>(dtype)]; };
  at(DType::boolean) = convert_row<From, bool>;
  at(DType::u8) = convert_row<From, std::uint8_t>;
  at(DType::i8) = convert_row<From, std::int8_t>;
  at(DType::i16) = convert_row<From, std::int16_t>;
  at(DType::i32) = convert_row<From, std::int32_t>;
  at(DType::i64) = convert_row<From, std::int64_t>;
  at(DType::f32) = convert_row<From, float>;
  at(DType::f64) = convert_row<From, double>;
}

std::pair<ConversionRows, std::array<Row, dtype_count>> make_conversion_rows() {
  std::pair<ConversionRows, std::array<Row, dtype_count>> all{};
  const auto at = [](DType dtype) { return static_cast<std::size_t>(dtype); };
  ConversionRows& rows = all.first;
  fill_from<bool>(rows[at(DType::boolean)]);
  fill_from<std::uint8_t>(rows[at(DType::u8)]);
  fill_from<std::int8_t>(rows[at(DType::i8)]);
  fill_from<std::int16_t>(rows[at(DType::i16)]);
  fill_from<std::int32_t>(rows[at(DType::i32)]);
  fill_from<std::int64_t>(rows[at(DType::i64)]);
  fill_from<float>(rows[at(DType::f32)]);
  fill_from<double>(rows[at(DType::f64)]);
  rows[at(DType::f32)][at(DType::i32)] = f32_to_i32_row;
  using Wide = WideTag<float>;
  rows[at(DType::f16)][at(DType::f32)] = unary_row<Same, Wide, f16, float>;
  rows[at(DType::bf16)][at(DType::f32)] = unary_row<Same, Wide, bf16, float>;
  rows[at(DType::f32)][at(DType::f16)] = unary_row<Same, Wide, float, f16>;
  rows[at(DType::f32)][at(DType::bf16)] = unary_row<Same, Wide, float, bf16>;
  all.second[at(DType::i32)] = to_odd_row<std::int32_t>;
  all.second[at(DType::i64)] = to_odd_row<std::int64_t>;
  all.second[at(DType::f64)] = to_odd_row<double>;
  return all;
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_conversion_rows);
namespace {
const auto& all_conversions() {
  static const auto rows = HWY_DYNAMIC_DISPATCH(make_conversion_rows)();
  return rows;
}
}  // namespace
const ConversionRows& conversion_rows() { return all_conversions().first; }
Row sticky_row(DType from) { return all_conversions().second[static_cast<std::size_t>(from)]; }
}  // namespace tutti::kernels
#endif
