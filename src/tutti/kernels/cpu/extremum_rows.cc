#include <array>
#include <tuple>

#include "tutti/kernels/cpu/reduction_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/extremum_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/reduction_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

template <class T>
ExtremumRows<T> extrema_of() {
  return {rows_of_reduction<Largest, T>(), rows_of_reduction<Smallest, T>()};
}

template <class T>
std::size_t find(const T* elements, std::size_t count, T value) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto wanted = hn::Set(d, value);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = hn::LoadU(d, elements + i);
    if (value == value ? !hn::AllFalse(d, hn::Eq(x, wanted)) : !hn::AllTrue(d, hn::Eq(x, x))) break;
  }
  while (i < count && !(value == value ? elements[i] == value : elements[i] != elements[i])) ++i;
  return i;
}

template <bool of_largest, class D>
HWY_INLINE hn::Mask<D> beats(D d, hn::Vec<D> x, hn::Vec<D> best) {
  const auto is_beyond = of_largest ? hn::Lt(best, x) : hn::Lt(x, best);
  if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
    return hn::Or(is_beyond, hn::AndNot(is_nan(d, best), is_nan(d, x)));
  } else {
    return is_beyond;
  }
}

template <bool of_largest, class T>
void improve(const T* const* rows, std::size_t n, typename ArgumentRows<T>::Number first, T* best,
             typename ArgumentRows<T>::Number* number, std::size_t count) {
  using Number = typename ArgumentRows<T>::Number;
  const Tag<T> d;
  const hn::Rebind<Number, Tag<T>> numbers;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto value = hn::LoadU(d, best + i);
    auto where = hn::LoadU(numbers, number + i);
    for (std::size_t r = 0; r < n; ++r) {
      const auto x = hn::LoadU(d, rows[r] + i);
      const auto is_better = beats<of_largest>(d, x, value);
      value = hn::IfThenElse(is_better, x, value);
      where = hn::IfThenElse(hn::RebindMask(numbers, is_better), hn::Set(numbers, static_cast<Number>(first + r)), where);
    }
    hn::StoreU(value, d, best + i);
    hn::StoreU(where, numbers, number + i);
  }
  for (; i < count; ++i) {
    for (std::size_t r = 0; r < n; ++r) {
      const T x = rows[r][i];
      const bool is_beyond = of_largest ? best[i] < x : x < best[i];
      if (!is_beyond && (x == x || best[i] != best[i])) continue;
      best[i] = x;
      number[i] = static_cast<Number>(first + r);
    }
  }
}

template <class T>
std::array<ArgumentRows<T>, 2> arguments_of() {
  return {ArgumentRows<T>{find<T>, improve<false, T>}, ArgumentRows<T>{find<T>, improve<true, T>}};
}

std::tuple<ExtremumRows<std::uint8_t>, ExtremumRows<std::int32_t>, ExtremumRows<std::int64_t>, ExtremumRows<float>,
           ExtremumRows<double>>
make_extremum_rows() {
  return {extrema_of<std::uint8_t>(), extrema_of<std::int32_t>(), extrema_of<std::int64_t>(), extrema_of<float>(),
          extrema_of<double>()};
}

template <class T>
using LeastAndMost = std::array<ArgumentRows<T>, 2>;
std::tuple<LeastAndMost<std::int32_t>, LeastAndMost<std::int64_t>, LeastAndMost<float>, LeastAndMost<double>>
make_argument_rows() {
  return {arguments_of<std::int32_t>(), arguments_of<std::int64_t>(), arguments_of<float>(), arguments_of<double>()};
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_extremum_rows);
HWY_EXPORT(make_argument_rows);
template <class T>
const ExtremumRows<T>& extremum_rows() {
  static const auto rows = std::get<ExtremumRows<T>>(HWY_DYNAMIC_DISPATCH(make_extremum_rows)());
  return rows;
}
template <class T>
const ArgumentRows<T>& argument_rows(bool of_largest) {
  static const auto rows = std::get<std::array<ArgumentRows<T>, 2>>(HWY_DYNAMIC_DISPATCH(make_argument_rows)());
  return rows[of_largest ? 1 : 0];
}
template const ExtremumRows<std::uint8_t>& extremum_rows<std::uint8_t>();
template const ExtremumRows<std::int32_t>& extremum_rows<std::int32_t>();
template const ExtremumRows<std::int64_t>& extremum_rows<std::int64_t>();
template const ExtremumRows<float>& extremum_rows<float>();
template const ExtremumRows<double>& extremum_rows<double>();
template const ArgumentRows<std::int32_t>& argument_rows<std::int32_t>(bool);
template const ArgumentRows<std::int64_t>& argument_rows<std::int64_t>(bool);
template const ArgumentRows<float>& argument_rows<float>(bool);
template const ArgumentRows<double>& argument_rows<double>(bool);
}  // namespace tutti::kernels
#endif
