#include "tutti/kernels/cpu/line_rows.h"

#include <cmath>
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
    return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(m0, m1), hn::Max(m2, m3))));
  }
  for (; i < count; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

template <class T>
HWY_INLINE double lanes_sum(hn::Vec<WideTag<T>> v) {
  const WideTag<T> d;
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, v)));
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

// A line that is no longer than a vector, and what it lacks to one.
template <class T>
struct OneVector {
  using D = WideTag<T>;
  hn::Mask<D> is_in;
  std::size_t length;

  HWY_INLINE explicit OneVector(std::size_t n) : is_in(hn::FirstN(D(), n)), length(n) {}
  HWY_INLINE hn::Vec<D> load(const T* x, T beyond) const {
    return hn::IfThenElse(is_in, Source<D>(x).load(length), hn::Set(D(), beyond));
  }
  HWY_INLINE hn::Vec<D> sum(hn::Vec<D> v) const { return hn::SumOfLanes(D(), hn::IfThenElseZero(is_in, v)); }
};

template <class T>
void softmax_lines(const T* x, T* out, std::size_t lines, std::size_t length, bool is_log) {
  using D = WideTag<T>;
  const D d;
  const VectorMath<D> m;
  if (length > hn::Lanes(d)) {
    for (std::size_t line = 0; line < lines; ++line, x += length, out += length) {
      const T largest = line_max(x, length);
      if (is_log) {
        subtract(x, largest, std::log(static_cast<T>(exp_sum<T>(x, largest, nullptr, length))), out, length);
      } else {
        scale(out, T{1} / static_cast<T>(exp_sum(x, largest, out, length)), out, length);
      }
    }
    return;
  }
  const OneVector<T> one(length);
  for (std::size_t line = 0; line < lines; ++line, x += length, out += length) {
    const auto v = one.load(x, -std::numeric_limits<T>::infinity());
    const auto apart = hn::Sub(v, hn::MaxOfLanes(d, v));
    const auto power = Exp::apply(m, apart);
    const auto sum = one.sum(power);
    if (is_log) {
      store<D>(hn::Sub(apart, hn::Set(d, std::log(hn::GetLane(sum)))), out, length);
    } else {
      store<D>(hn::Div(power, sum), out, length);
    }
  }
}

// As many columns as a vector has lanes, or fewer.
template <class T>
void softmax_strip(const T* x, T* out, std::size_t length, std::size_t stride, std::size_t count, bool is_log) {
  using D = WideTag<T>;
  const D d;
  const VectorMath<D> m;
  const bool is_full = count == hn::Lanes(d);
  const auto row = [&](const T* at) HWY_ATTR { return is_full ? hn::LoadU(d, at) : Source<D>(at).load(count); };
  const auto put = [&](hn::Vec<D> v, T* at) HWY_ATTR {
    if (is_full) {
      hn::StoreU(v, d, at);
    } else {
      store<D>(v, at, count);
    }
  };
  auto largest = row(x);
  for (std::size_t i = 1; i < length; ++i) largest = hn::Max(largest, row(x + i * stride));
  double totals[hn::MaxLanes(d)] = {};
  for (std::size_t i = 0; i < length;) {
    auto some = hn::Zero(d);
    for (const std::size_t end = length - i < 16 ? length : i + 16; i < end; ++i) {
      const auto power = Exp::apply(m, hn::Sub(row(x + i * stride), largest));
      some = hn::Add(some, power);
      if (!is_log) put(power, out + i * stride);
    }
    HWY_ALIGN T lanes[hn::MaxLanes(d)];
    hn::Store(some, d, lanes);
    for (std::size_t k = 0; k < hn::Lanes(d); ++k) totals[k] += static_cast<double>(lanes[k]);
  }
  HWY_ALIGN T last[hn::MaxLanes(d)];
  for (std::size_t k = 0; k < hn::Lanes(d); ++k)
    last[k] = is_log ? std::log(static_cast<T>(totals[k])) : T{1} / static_cast<T>(totals[k]);
  const auto by = hn::Load(d, last);
  for (std::size_t i = 0; i < length; ++i) {
    put(is_log ? hn::Sub(hn::Sub(row(x + i * stride), largest), by) : hn::Mul(row(out + i * stride), by), out + i * stride);
  }
}

template <class T>
void softmax_columns(const T* x, T* out, std::size_t length, std::size_t stride, std::size_t count, bool is_log) {
  const std::size_t lanes = hn::Lanes(WideTag<T>());
  for (std::size_t at = 0; at < count; at += lanes)
    softmax_strip(x + at, out + at, length, stride, count - at < lanes ? count - at : lanes, is_log);
}

template <class T>
void exp_sum_lines(const T* x, std::size_t lines, std::size_t length, T* largest, T* sums) {
  using D = WideTag<T>;
  const D d;
  const VectorMath<D> m;
  const OneVector<T> one(length);
  for (std::size_t line = 0; line < lines; ++line, x += length) {
    if (length > hn::Lanes(d)) {
      largest[line] = line_max(x, length);
      sums[line] = static_cast<T>(exp_sum<T>(x, largest[line], nullptr, length));
    } else {
      const auto v = one.load(x, -std::numeric_limits<T>::infinity());
      const auto most = hn::MaxOfLanes(d, v);
      largest[line] = hn::GetLane(most);
      sums[line] = hn::GetLane(one.sum(Exp::apply(m, hn::Sub(v, most))));
    }
  }
}

template <class T>
void layer_norm_lines(const T* x, const T* weight, const T* bias, double epsilon, T* out, std::size_t lines, std::size_t length) {
  using D = WideTag<T>;
  const D d;
  const auto n = static_cast<T>(length);
  const auto added = static_cast<T>(epsilon);
  if (length > hn::Lanes(d)) {
    for (std::size_t line = 0; line < lines; ++line, x += length, out += length) {
      const T mean = static_cast<T>(line_sum(x, length)) / n;
      const T factor = T{1} / std::sqrt(static_cast<T>(squares(x, mean, length)) / n + added);
      normalise(x, mean, factor, weight, bias, out, length);
    }
    return;
  }
  const OneVector<T> one(length);
  const auto w = weight != nullptr ? one.load(weight, T{1}) : hn::Set(d, T{1});
  const auto b = bias != nullptr ? one.load(bias, T{0}) : hn::Zero(d);
  const auto by_n = hn::Set(d, n);
  const auto unit = hn::Set(d, T{1});
  for (std::size_t line = 0; line < lines; ++line, x += length, out += length) {
    const auto v = one.load(x, T{0});
    const auto apart = hn::Sub(v, hn::Div(one.sum(v), by_n));
    const auto variance = hn::Div(one.sum(hn::Mul(apart, apart)), by_n);
    const auto factor = hn::Div(unit, hn::Sqrt(hn::Add(variance, hn::Set(d, added))));
    store<D>(hn::MulAdd(hn::Mul(apart, factor), w, b), out, length);
  }
}

// What the gradient of a normalised line is made of, in vectors of any width.
template <class T>
struct NormTerms {
  const T* x;
  const T* weight;  // may be null
  T mean;
  T factor;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const T* from, std::size_t n) {
    return n == hn::Lanes(d) ? hn::LoadU(d, from) : Source<D>(from).load(n);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> normal(D d, std::size_t at, std::size_t n) const {
    return hn::Mul(hn::Sub(load(d, x + at, n), hn::Set(d, mean)), hn::Set(d, factor));
  }
  template <class D>
  HWY_INLINE hn::Vec<D> weighted(D d, hn::Vec<D> g, std::size_t at, std::size_t n) const {
    return weight != nullptr ? hn::Mul(g, load(d, weight + at, n)) : g;
  }
};

template <class T>
void norm_gradient(const T* x, const T* g, const T* weight, T mean, T factor, T* out, std::size_t count) {
  using Wide = WideTag<T>;
  using D = Tag<T>;
  const NormTerms<T> terms{x, weight, mean, factor};
  const double sum = sum_terms(
      g, count, [&](hn::Vec<Wide> v, std::size_t at, std::size_t n) HWY_ATTR { return terms.weighted(Wide(), v, at, n); });
  const double along_normal = sum_terms(g, count, [&](hn::Vec<Wide> v, std::size_t at, std::size_t n) HWY_ATTR {
    return hn::Mul(terms.weighted(Wide(), v, at, n), terms.normal(Wide(), at, n));
  });
  const auto middle = hn::Set(D(), static_cast<T>(sum / static_cast<double>(count)));
  const auto along = hn::Set(D(), static_cast<T>(along_normal / static_cast<double>(count)));
  const auto by = hn::Set(D(), factor);
  map_line(g, out, count, [&](hn::Vec<D> v, std::size_t at, std::size_t n) HWY_ATTR {
    return hn::Mul(hn::NegMulAdd(terms.normal(D(), at, n), along, hn::Sub(terms.weighted(D(), v, at, n), middle)), by);
  });
}

template <class T>
void add_norm_columns(const T* x, const T* g, T mean, T factor, T* of_weight, T* of_bias, std::size_t count) {
  using D = Tag<T>;
  const NormTerms<T> terms{x, nullptr, mean, factor};
  map_line(of_weight, of_weight, count, [&](hn::Vec<D> sum, std::size_t at, std::size_t n) HWY_ATTR {
    return hn::MulAdd(load_some(g + at, n), terms.normal(D(), at, n), sum);
  });
  map_line(of_bias, of_bias, count,
           [&](hn::Vec<D> sum, std::size_t at, std::size_t n) HWY_ATTR { return hn::Add(sum, load_some(g + at, n)); });
}

template <class T>
LineRows<T> make_line_rows() {
  return {line_max<T>,         exp_sum<T>,       scale<T>,           subtract<T>,        line_sum<T>,
          squares<T>,          normalise<T>,     softmax_lines<T>,   softmax_columns<T>, exp_sum_lines<T>,
          layer_norm_lines<T>, norm_gradient<T>, add_norm_columns<T>};
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
