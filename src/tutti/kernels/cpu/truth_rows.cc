#include <array>
#include <tuple>

#include "tutti/kernels/cpu/reduction_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/truth_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/reduction_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// Without the sign: -0 is zero.
struct WithoutSign {
  template <class D>
  static HWY_INLINE hn::Vec<D> map(D, hn::Vec<D> x, hn::Vec<D>) {
    return hn::Add(x, x);
  }
};

template <class Map>
struct AnyOf : Map {
  static constexpr bool wraps = false;
  template <class D>
  static HWY_INLINE hn::Vec<D> identity(D d) {
    return hn::Zero(d);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> a, hn::Vec<D> b) {
    return hn::Or(a, b);
  }
};

// All are true when the least of them is.
template <class U, class Map>
TruthRows<U> truth_with() {
  return {rows_of_reduction<SmallestOf<Map>, U>(), rows_of_reduction<AnyOf<Map>, U>()};
}
template <class U>
std::array<TruthRows<U>, 2> truth_of() {
  return {truth_with<U, Itself>(), truth_with<U, WithoutSign>()};
}

template <class U>
using PlainAndSigned = std::array<TruthRows<U>, 2>;
std::tuple<PlainAndSigned<std::uint8_t>, PlainAndSigned<std::uint16_t>, PlainAndSigned<std::uint32_t>,
           PlainAndSigned<std::uint64_t>>
make_truth_rows() {
  return {truth_of<std::uint8_t>(), truth_of<std::uint16_t>(), truth_of<std::uint32_t>(), truth_of<std::uint64_t>()};
}

// Plain loops that the compiler vectorises. `bits`: those of the element that count.
template <class U, U bits>
void count_elements(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  const auto* input = static_cast<const U*>(inputs[0]);
  auto* output = static_cast<std::int64_t*>(out);
  const std::size_t step = (singles & 1U) != 0 ? 0 : 1;
  for (std::size_t i = 0; i < count; ++i) output[i] = (input[i * step] & bits) != 0 ? 1 : 0;
}

template <class U>
std::array<Row, 2> counting() {
  constexpr U all = static_cast<U>(~U{0});
  return {count_elements<U, all>, count_elements<U, static_cast<U>(all >> 1U)>};
}
// By element size, then for integers and floats.
std::array<std::array<Row, 2>, 4> make_count_rows() {
  return {counting<std::uint8_t>(), counting<std::uint16_t>(), counting<std::uint32_t>(), counting<std::uint64_t>()};
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_truth_rows);
HWY_EXPORT(make_count_rows);
template <class U>
const TruthRows<U>& truth_rows(bool of_floats) {
  static const auto rows = std::get<std::array<TruthRows<U>, 2>>(HWY_DYNAMIC_DISPATCH(make_truth_rows)());
  return rows[of_floats ? 1 : 0];
}
template const TruthRows<std::uint8_t>& truth_rows<std::uint8_t>(bool);
template const TruthRows<std::uint16_t>& truth_rows<std::uint16_t>(bool);
template const TruthRows<std::uint32_t>& truth_rows<std::uint32_t>(bool);
template const TruthRows<std::uint64_t>& truth_rows<std::uint64_t>(bool);

Row count_row(DType from) {
  static const auto rows = HWY_DYNAMIC_DISPATCH(make_count_rows)();
  const std::size_t by_size = std::array<std::size_t, 9>{0, 0, 1, 0, 2, 0, 0, 0, 3}[size_of(from)];
  return rows[by_size][is_floating(from) ? 1 : 0];
}
}  // namespace tutti::kernels
#endif
