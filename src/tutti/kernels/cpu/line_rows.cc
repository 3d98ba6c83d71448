#include "tutti/kernels/cpu/line_rows.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/line_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

template <class T>
T line_max(const T* x, std::size_t count) {
  const WideTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  T most = lowest;
  std::size_t i = 0;
  if (count >= lanes) {
    auto m0 = hn::LoadU(d, x);
    auto m1 = m0, m2 = m0, m3 = m0;
    for (i = lanes; i + 4 * lanes <= count; i += 4 * lanes) {
      m0 = hn::Max(m0, hn::LoadU(d, x + i));
      m1 = hn::Max(m1, hn::LoadU(d, x + i + lanes));
      m2 = hn::Max(m2, hn::LoadU(d, x + i + 2 * lanes));
      m3 = hn::Max(m3, hn::LoadU(d, x + i + 3 * lanes));
    }
    for (; i + lanes <= count; i += lanes) m0 = hn::Max(m0, hn::LoadU(d, x + i));
    if (i < count) m1 = hn::Max(m1, hn::LoadU(d, x + count - lanes));  // some of them again
    HWY_ALIGN T lanes_of[hn::MaxLanes(d)];
    hn::Store(hn::Max(hn::Max(m0, m1), hn::Max(m2, m3)), d, lanes_of);
    for (std::size_t k = 0; k < lanes; ++k) most = lanes_of[k] > most ? lanes_of[k] : most;
    return most;
  }
  for (; i < count; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

template <class T>
HWY_INLINE double lanes_sum(hn::Vec<WideTag<T>> v) {
  const WideTag<T> d;
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (std::size_t half = hn::Lanes(d) / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return static_cast<double>(lanes[0]);
}

// The sum of term(vector, at) over the elements, 16 vectors to a running sum before it goes on in double. `term` gets the
// elements of x and, for the last ones, how many there are; what it gives beyond them is left out.
template <class T, class Term>
HWY_INLINE double sum_terms(const T* x, std::size_t count, const Term& term) {
  const WideTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  double total = 0;
  std::size_t i = 0;
  while (i + 2 * lanes <= count) {
    auto s0 = hn::Zero(d), s1 = s0;
    const std::size_t left = (count - i) / (2 * lanes);
    const std::size_t end = i + (left < 16 ? left : 16) * 2 * lanes;
    for (; i < end; i += 2 * lanes) {
      s0 = hn::Add(s0, term(hn::LoadU(d, x + i), i, lanes));
      s1 = hn::Add(s1, term(hn::LoadU(d, x + i + lanes), i + lanes, lanes));
    }
    total += lanes_sum<T>(hn::Add(s0, s1));
  }
  auto rest = hn::Zero(d);
  for (; i < count; i += lanes) {
    const std::size_t n = count - i < lanes ? count - i : lanes;
    if (n == lanes) {
      rest = hn::Add(rest, term(hn::LoadU(d, x + i), i, n));
    } else {
      rest = hn::Add(rest, hn::IfThenElseZero(hn::FirstN(d, n), term(Source<WideTag<T>>(x + i).load(n), i, n)));
    }
  }
  return total + lanes_sum<T>(rest);
}

template <class T>
double exp_sum(const T* x, T shift, T* out, std::size_t count) {
  using D = WideTag<T>;
  const VectorMath<D> m;
  const auto by = hn::Set(D(), shift);
  if (out == nullptr) {
    return sum_terms(x, count, [&](hn::Vec<D> v, std::size_t, std::size_t) HWY_ATTR { return Exp::apply(m, hn::Sub(v, by)); });
  }
  return sum_terms(x, count, [&](hn::Vec<D> v, std::size_t at, std::size_t n) HWY_ATTR {
    const auto e = Exp::apply(m, hn::Sub(v, by));
    if (n == hn::Lanes(D())) {
      hn::StoreU(e, D(), out + at);
    } else {
      store<D>(e, out + at, n);
    }
    return e;
  });
}

template <class T>
double line_sum(const T* x, std::size_t count) {
  return sum_terms(x, count, [](hn::Vec<WideTag<T>> v, std::size_t, std::size_t) HWY_ATTR { return v; });
}

template <class T>
double squares(const T* x, T mean, std::size_t count) {
  const auto by = hn::Set(WideTag<T>(), mean);
  return sum_terms(x, count, [&](hn::Vec<WideTag<T>> v, std::size_t, std::size_t) HWY_ATTR {
    const auto apart = hn::Sub(v, by);
    return hn::Mul(apart, apart);
  });
}

// out = f(x, at), a vector at a time; f loads what else it needs through `more`.
template <class T, class F>
HWY_INLINE void map_line(const T* x, T* out, std::size_t count, const F& f) {
  using D = Tag<T>;
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i), i, lanes), d, out + i);
  if (i < count) store<D>(f(Source<D>(x + i).load(count - i), i, count - i), out + i, count - i);
}

template <class T>
void scale(const T* x, T factor, T* out, std::size_t count) {
  const auto by = hn::Set(Tag<T>(), factor);
  map_line(x, out, count, [&](hn::Vec<Tag<T>> v, std::size_t, std::size_t) HWY_ATTR { return hn::Mul(v, by); });
}

template <class T>
void subtract(const T* x, T first, T second, T* out, std::size_t count) {
  const auto a = hn::Set(Tag<T>(), first);
  const auto b = hn::Set(Tag<T>(), second);
  map_line(x, out, count, [&](hn::Vec<Tag<T>> v, std::size_t, std::size_t) HWY_ATTR { return hn::Sub(hn::Sub(v, a), b); });
}

template <class T>
HWY_INLINE hn::Vec<Tag<T>> load_some(const T* from, std::size_t n) {
  return n == hn::Lanes(Tag<T>()) ? hn::LoadU(Tag<T>(), from) : Source<Tag<T>>(from).load(n);
}

template <class T>
void normalise(const T* x, T mean, T factor, const T* weight, const T* bias, T* out, std::size_t count) {
  using V = hn::Vec<Tag<T>>;
  const auto from = hn::Set(Tag<T>(), mean);
  const auto by = hn::Set(Tag<T>(), factor);
  const auto plain = [&](V v) HWY_ATTR { return hn::Mul(hn::Sub(v, from), by); };
  if (weight != nullptr && bias != nullptr) {
    map_line(x, out, count, [&](V v, std::size_t at, std::size_t n) HWY_ATTR {
      return hn::MulAdd(plain(v), load_some(weight + at, n), load_some(bias + at, n));
    });
  } else if (weight != nullptr) {
    map_line(x, out, count,
             [&](V v, std::size_t at, std::size_t n) HWY_ATTR { return hn::Mul(plain(v), load_some(weight + at, n)); });
  } else if (bias != nullptr) {
    map_line(x, out, count,
             [&](V v, std::size_t at, std::size_t n) HWY_ATTR { return hn::Add(plain(v), load_some(bias + at, n)); });
  } else {
    map_line(x, out, count, [&](V v, std::size_t, std::size_t) HWY_ATTR { return plain(v); });
  }
}

template <class T>
LineRows<T> make_line_rows() {
  return {line_max<T>, exp_sum<T>, scale<T>, subtract<T>, line_sum<T>, squares<T>, normalise<T>};
}
LineRows<float> make_line_rows_f32() { return make_line_rows<float>(); }
LineRows<double> make_line_rows_f64() { return make_line_rows<double>(); }

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_line_rows_f32);
HWY_EXPORT(make_line_rows_f64);
template <>
const LineRows<float>& line_rows<float>() {
  static const LineRows<float> rows = HWY_DYNAMIC_DISPATCH(make_line_rows_f32)();
  return rows;
}
template <>
const LineRows<double>& line_rows<double>() {
  static const LineRows<double> rows = HWY_DYNAMIC_DISPATCH(make_line_rows_f64)();
  return rows;
}
}  // namespace tutti::kernels
#endif
