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

#ifndef TUTTI_KERNELS_CPU_CONVERSIONS
#define TUTTI_KERNELS_CPU_CONVERSIONS
namespace tutti::kernels {
namespace {
struct Conversions {
  ConversionRows rows{};
  std::array<Row, dtype_count> sticky{};      // see sticky_row
  std::array<Row, dtype_count> saturating{};  // from i32 to smaller integers
};
}  // namespace
}  // namespace tutti::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// Plain loops that the compiler vectorises for the instruction set at hand.
template <class To, class From>
HWY_INLINE To convert(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
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

template <class To, class From, class Convert>
HWY_INLINE void convert_each(const void* const* inputs, unsigned singles, void* out, std::size_t count,
                             const Convert& converted) {
  const auto* input = static_cast<const From*>(inputs[0]);
  auto* output = static_cast<To*>(out);
  if ((singles & 1U) != 0) {
    std::fill_n(output, count, converted(*input));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) output[i] = converted(input[i]);
}

template <class From, class To>
void convert_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  convert_each<To, From>(inputs, singles, out, count, [](From x) HWY_ATTR { return convert<To>(x); });
}
// A bool byte as 0 or 1, whatever its bits.
template <class To>
void from_bool_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  convert_each<To, std::uint8_t>(inputs, singles, out, count, [](std::uint8_t x) HWY_ATTR { return static_cast<To>(x != 0); });
}
// `bits`: those of an element that count; of a float all but its sign, for -0 is false.
template <class U, U bits>
void to_bool_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  convert_each<std::uint8_t, U>(inputs, singles, out, count,
                                [](U x) HWY_ATTR { return static_cast<std::uint8_t>((x & bits) != 0); });
}
template <class To>
void saturate_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  convert_each<To, std::int32_t>(inputs, singles, out, count, [](std::int32_t x) HWY_ATTR {
    constexpr auto least = std::int32_t{std::numeric_limits<To>::min()};
    constexpr auto most = std::int32_t{std::numeric_limits<To>::max()};
    return static_cast<To>(x < least ? least : x > most ? most : x);
  });
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

// Those pairs that take one step.
template <class From, class... To>
void fill_from(ConversionRows& rows) {
  ((rows[static_cast<std::size_t>(dtype_of<From>)][static_cast<std::size_t>(dtype_of<To>)] = convert_row<From, To>), ...);
}
template <class Bits, class... From>
void fill_to_bool(ConversionRows& rows) {
  constexpr auto all = static_cast<Bits>(~Bits{0});
  ((rows[static_cast<std::size_t>(dtype_of<From>)][static_cast<std::size_t>(DType::boolean)] = to_bool_row < Bits,
    is_floating(dtype_of<From>) ? static_cast<Bits>(all >> 1U) : all >),
   ...);
}

Conversions make_conversions() {
  Conversions all;
  const auto at = [](DType dtype) { return static_cast<std::size_t>(dtype); };
  ConversionRows& rows = all.rows;
  rows[at(DType::boolean)][at(DType::i32)] = from_bool_row<std::int32_t>;
  rows[at(DType::boolean)][at(DType::i64)] = from_bool_row<std::int64_t>;
  rows[at(DType::boolean)][at(DType::f32)] = from_bool_row<float>;
  fill_to_bool<std::uint8_t, bool, std::uint8_t, std::int8_t>(rows);
  fill_to_bool<std::uint16_t, std::int16_t, f16, bf16>(rows);
  fill_to_bool<std::uint32_t, std::int32_t, float>(rows);
  fill_to_bool<std::uint64_t, std::int64_t, double>(rows);
  fill_from<std::uint8_t, std::int32_t, std::int64_t, float>(rows);
  fill_from<std::int8_t, std::int32_t, std::int64_t, float>(rows);
  fill_from<std::int16_t, std::int32_t, std::int64_t, float>(rows);
  fill_from<std::int32_t, std::uint8_t, std::int8_t, std::int16_t, std::int64_t, float, double>(rows);
  fill_from<std::int64_t, std::int32_t, float, double>(rows);
  fill_from<float, std::int64_t, double>(rows);
  fill_from<double, std::int32_t, std::int64_t, float>(rows);
  rows[at(DType::f32)][at(DType::i32)] = f32_to_i32_row;
  using Wide = WideTag<float>;
  rows[at(DType::f16)][at(DType::f32)] = unary_row<Same, Wide, f16, float>;
  rows[at(DType::bf16)][at(DType::f32)] = unary_row<Same, Wide, bf16, float>;
  rows[at(DType::f32)][at(DType::f16)] = unary_row<Same, Wide, float, f16>;
  rows[at(DType::f32)][at(DType::bf16)] = unary_row<Same, Wide, float, bf16>;
  all.sticky[at(DType::i32)] = to_odd_row<std::int32_t>;
  all.sticky[at(DType::i64)] = to_odd_row<std::int64_t>;
  all.sticky[at(DType::f64)] = to_odd_row<double>;
  all.saturating[at(DType::u8)] = saturate_row<std::uint8_t>;
  all.saturating[at(DType::i8)] = saturate_row<std::int8_t>;
  all.saturating[at(DType::i16)] = saturate_row<std::int16_t>;
  return all;
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_conversions);
namespace {

const Conversions& one_step() {
  static const Conversions all = HWY_DYNAMIC_DISPATCH(make_conversions)();
  return all;
}
Row one_step(DType from, DType to) { return one_step().rows[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)]; }

// Rare pairs: a block at a time to the dtype in between, and on.
template <DType from, DType middle, DType to>
void in_two_steps(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  constexpr bool saturates = is_floating(from) && middle == DType::i32;
  constexpr std::size_t most = 1024;
  alignas(64) std::array<std::byte, most * 8> room;
  const Row first = one_step(from, middle);
  const Row second = saturates ? one_step().saturating[static_cast<std::size_t>(to)] : one_step(middle, to);
  const bool is_single = (singles & 1U) != 0;
  for (std::size_t at = 0; at < count; at += most) {
    const std::size_t n = std::min(most, count - at);
    const void* input = static_cast<const std::byte*>(inputs[0]) + (is_single ? 0 : at * size_of(from));
    first(&input, 0, room.data(), is_single ? 1 : n);
    const void* between = room.data();
    second(&between, singles, static_cast<std::byte*>(out) + at * size_of(to), n);
  }
}

template <DType from, DType to>
Row row_between() {
  if constexpr (from == to || half_dtypes.contains(from) || half_dtypes.contains(to)) {
    return nullptr;
  } else {
    return in_two_steps<from, DType::i32, to>;
  }
}

template <std::size_t... from, std::size_t... to>
ConversionRows all_rows(std::index_sequence<from...>, std::index_sequence<to...>) {
  ConversionRows rows = one_step().rows;
  const auto fill = [&]<std::size_t a>() {
    ((rows[a][to] = rows[a][to] != nullptr ? rows[a][to] : row_between<static_cast<DType>(a), static_cast<DType>(to)>()), ...);
  };
  (fill.template operator()<from>(), ...);
  return rows;
}

template <std::size_t... from>
std::array<Row, dtype_count> all_counts(std::index_sequence<from...>) {
  return {in_two_steps<static_cast<DType>(from), DType::boolean, DType::i64>...};
}

}  // namespace

const ConversionRows& conversion_rows() {
  constexpr auto dtypes = std::make_index_sequence<dtype_count>{};
  static const ConversionRows rows = all_rows(dtypes, dtypes);
  return rows;
}
Row sticky_row(DType from) { return one_step().sticky[static_cast<std::size_t>(from)]; }
Row count_row(DType from) {
  static const std::array<Row, dtype_count> rows = all_counts(std::make_index_sequence<dtype_count>{});
  return from == DType::boolean ? one_step(from, DType::i64) : rows[static_cast<std::size_t>(from)];
}

}  // namespace tutti::kernels
#endif
