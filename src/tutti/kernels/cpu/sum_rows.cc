#include <cmath>
#include <tuple>

#include "tutti/kernels/cpu/reduction_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/sum_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/reduction_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

struct SquareOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> map(D, hn::Vec<D> x, hn::Vec<D>) {
    return hn::Mul(x, x);
  }
};

// One lane after the other: an order other than 1, 2 or infinity is rare.
struct PowerOf {
  template <class D>
  static HWY_INLINE hn::Vec<D> map(D d, hn::Vec<D> x, hn::Vec<D> order) {
    HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
    hn::Store(hn::Abs(x), d, lanes);
    const hn::TFromD<D> power = hn::GetLane(order);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = std::pow(lanes[i], power);
    return hn::Load(d, lanes);
  }
};

struct Product {
  template <class D>
  static HWY_INLINE hn::Vec<D> map(D, hn::Vec<D> x, hn::Vec<D>) {
    return x;
  }
  static constexpr bool wraps = true;
  template <class D>
  static HWY_INLINE hn::Vec<D> identity(D d) {
    return hn::Set(d, hn::TFromD<D>{1});
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> a, hn::Vec<D> b) {
    return hn::Mul(a, b);
  }
};

template <class T>
SumRows<T> sums_of() {
  SumRows<T> rows;
  rows.sum = rows_of_reduction<SumOf<WithoutSign>, T>();
  rows.product = rows_of_reduction<Product, T>();
  if constexpr (std::is_same_v<T, float>) {
    rows.sum.fold_bf16 = fold_bf16<SumOf<WithoutSign>>;
    rows.sum.fold_rows_bf16 = fold_rows_bf16<SumOf<WithoutSign>>;
  }
  if constexpr (std::is_floating_point_v<T>) {
    rows.squares = rows_of_reduction<SumOf<SquareOf>, T>();
    rows.powers = rows_of_reduction<SumOf<PowerOf>, T>();
  }
  return rows;
}

std::tuple<SumRows<float>, SumRows<double>, SumRows<std::int64_t>> make_sum_rows() {
  return {sums_of<float>(), sums_of<double>(), sums_of<std::int64_t>()};
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_sum_rows);
template <class T>
const SumRows<T>& sum_rows() {
  static const SumRows<T> rows = std::get<SumRows<T>>(HWY_DYNAMIC_DISPATCH(make_sum_rows)());
  return rows;
}
template const SumRows<float>& sum_rows<float>();
template const SumRows<double>& sum_rows<double>();
template const SumRows<std::int64_t>& sum_rows<std::int64_t>();
}  // namespace tutti::kernels
#endif
