#include "tutti/kernels/cpu/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/sum_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// Integers are added as unsigned ones, which wrap.
template <class T>
using Adding = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;

template <class T>
HWY_INLINE T sum_of_lanes(hn::Vec<Tag<T>> v) {
  const Tag<T> d;
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (std::size_t half = hn::Lanes(d) / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

// Eight running sums, joined in pairs.
template <class T>
T sum_block(const T* elements, std::size_t count) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  std::size_t i = 0;
  for (; i + 8 * lanes <= count; i += 8 * lanes) {
    s0 = hn::Add(s0, hn::LoadU(d, elements + i));
    s1 = hn::Add(s1, hn::LoadU(d, elements + i + lanes));
    s2 = hn::Add(s2, hn::LoadU(d, elements + i + 2 * lanes));
    s3 = hn::Add(s3, hn::LoadU(d, elements + i + 3 * lanes));
    s4 = hn::Add(s4, hn::LoadU(d, elements + i + 4 * lanes));
    s5 = hn::Add(s5, hn::LoadU(d, elements + i + 5 * lanes));
    s6 = hn::Add(s6, hn::LoadU(d, elements + i + 6 * lanes));
    s7 = hn::Add(s7, hn::LoadU(d, elements + i + 7 * lanes));
  }
  for (; i + lanes <= count; i += lanes) s0 = hn::Add(s0, hn::LoadU(d, elements + i));
  if (i < count) {
    const Source<Tag<T>> rest(elements + i);
    s1 = hn::Add(s1, rest.load(count - i));
  }
  const auto low = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
  const auto high = hn::Add(hn::Add(s4, s5), hn::Add(s6, s7));
  return sum_of_lanes<T>(hn::Add(low, high));
}

template <class T>
HWY_INLINE hn::Vec<Tag<Adding<T>>> load(const T* elements) {
  return hn::LoadU(Tag<Adding<T>>(), reinterpret_cast<const Adding<T>*>(elements));
}

template <class T>
void add_rows(const T* const* rows, std::size_t n, T* output, std::size_t count) {
  using U = Adding<T>;
  const Tag<U> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  if (n == 8) {
    for (; i + lanes <= count; i += lanes) {
      const auto a = hn::Add(load(rows[0] + i), load(rows[1] + i));
      const auto b = hn::Add(load(rows[2] + i), load(rows[3] + i));
      const auto c = hn::Add(load(rows[4] + i), load(rows[5] + i));
      const auto e = hn::Add(load(rows[6] + i), load(rows[7] + i));
      hn::StoreU(hn::Add(hn::Add(a, b), hn::Add(c, e)), d, reinterpret_cast<U*>(output + i));
    }
  } else {
    for (; i + lanes <= count; i += lanes) {
      auto sum = load(rows[0] + i);
      for (std::size_t r = 1; r < n; ++r) sum = hn::Add(sum, load(rows[r] + i));
      hn::StoreU(sum, d, reinterpret_cast<U*>(output + i));
    }
  }
  if (i < count) {
    auto sum = Source<Tag<U>>(rows[0] + i).load(count - i);
    for (std::size_t r = 1; r < n; ++r) sum = hn::Add(sum, Source<Tag<U>>(rows[r] + i).load(count - i));
    store<Tag<U>>(sum, reinterpret_cast<U*>(output + i), count - i);
  }
}

template <class T>
void sum_each(const T* elements, std::size_t length, T* output, std::size_t count) {
  if (length > 16) {
    for (std::size_t i = 0; i < count; ++i) output[i] = sum_block(elements + i * length, length);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    T sum{0};
    for (std::size_t j = 0; j < length; ++j) sum += elements[i * length + j];
    output[i] = sum;
  }
}

// The same over T, which may be the signed twin of what is added.
template <class T>
T sum_as(const T* elements, std::size_t count) {
  return static_cast<T>(sum_block(reinterpret_cast<const Adding<T>*>(elements), count));
}
template <class T>
void sum_each_as(const T* elements, std::size_t length, T* output, std::size_t count) {
  sum_each(reinterpret_cast<const Adding<T>*>(elements), length, reinterpret_cast<Adding<T>*>(output), count);
}

template <class T>
SumRows<T> make_rows() {
  return {sum_as<T>, add_rows<T>, sum_each_as<T>};
}
SumRows<float> make_sum_rows_f32() { return make_rows<float>(); }
SumRows<double> make_sum_rows_f64() { return make_rows<double>(); }
SumRows<std::int64_t> make_sum_rows_i64() { return make_rows<std::int64_t>(); }

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_sum_rows_f32);
HWY_EXPORT(make_sum_rows_f64);
HWY_EXPORT(make_sum_rows_i64);
template <>
const SumRows<float>& sum_rows<float>() {
  static const SumRows<float> rows = HWY_DYNAMIC_DISPATCH(make_sum_rows_f32)();
  return rows;
}
template <>
const SumRows<double>& sum_rows<double>() {
  static const SumRows<double> rows = HWY_DYNAMIC_DISPATCH(make_sum_rows_f64)();
  return rows;
}
template <>
const SumRows<std::int64_t>& sum_rows<std::int64_t>() {
  static const SumRows<std::int64_t> rows = HWY_DYNAMIC_DISPATCH(make_sum_rows_i64)();
  return rows;
}
}  // namespace tutti::kernels
#endif
