#include <tuple>

#include "tutti/kernels/cpu/reduction_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/moment_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/reduction_loops.h"

// Two passes over elements that the first of them brought into the cache; the states are then merged exactly as they are.
HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

using Total = SumOf<WithoutSign>;

// The mean and the squared distances from it. The mean of the first pass is rounded: what the distances from it add up to
// corrects both.
struct Moments {
  template <class T>
  static constexpr T first_of_none = T{0};

  template <class T>
  static HWY_INLINE void finish(T middle, T distances, T squares, T count, T* state) {
    const T off = distances / count;
    state[0] = middle + off;
    state[1] = squares - distances * off;
  }

  template <class T>
  static HWY_INLINE void fold(const T* elements, std::size_t count, T* state) {
    const Tag<T> d;
    const std::size_t lanes = hn::Lanes(d);
    const auto n = static_cast<T>(count);
    const T middle = fold_lanes<Total>(elements, count, T{0}) / n;
    const auto m = hn::Set(d, middle);
    auto d0 = hn::Zero(d), d1 = d0, d2 = d0, d3 = d0, q0 = d0, q1 = d0, q2 = d0, q3 = d0;
    std::size_t i = 0;
    for (; i + 4 * lanes <= count; i += 4 * lanes) {
      const auto x0 = hn::Sub(hn::LoadU(d, elements + i), m);
      const auto x1 = hn::Sub(hn::LoadU(d, elements + i + lanes), m);
      const auto x2 = hn::Sub(hn::LoadU(d, elements + i + 2 * lanes), m);
      const auto x3 = hn::Sub(hn::LoadU(d, elements + i + 3 * lanes), m);
      d0 = hn::Add(d0, x0);
      d1 = hn::Add(d1, x1);
      d2 = hn::Add(d2, x2);
      d3 = hn::Add(d3, x3);
      q0 = hn::MulAdd(x0, x0, q0);
      q1 = hn::MulAdd(x1, x1, q1);
      q2 = hn::MulAdd(x2, x2, q2);
      q3 = hn::MulAdd(x3, x3, q3);
    }
    for (; i < count; i += lanes) {
      const std::size_t some = count - i < lanes ? count - i : lanes;
      const auto x = some == lanes ? hn::LoadU(d, elements + i) : Source<Tag<T>>(elements + i).load(some);
      const auto distance = hn::IfThenElseZero(hn::FirstN(d, some), hn::Sub(x, m));
      d0 = hn::Add(d0, distance);
      q0 = hn::MulAdd(distance, distance, q0);
    }
    const T distances = joined_lanes<Total>(d, hn::Add(hn::Add(d0, d1), hn::Add(d2, d3)));
    const T squares = joined_lanes<Total>(d, hn::Add(hn::Add(q0, q1), hn::Add(q2, q3)));
    finish(middle, distances, squares, n, state);
  }

  template <class T>
  static HWY_INLINE void fold_few(const T* elements, std::size_t count, T* state) {
    const auto n = static_cast<T>(count);
    T sum = elements[0];
    for (std::size_t i = 1; i < count; ++i) sum += elements[i];
    const T middle = sum / n;
    T distances = 0;
    T squares = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const T x = elements[i] - middle;
      distances += x;
      squares += x * x;
    }
    finish(middle, distances, squares, n, state);
  }

  template <class D, class Part>
  static HWY_INLINE void fold_rows_at(D d, const Part& part, const hn::TFromD<D>* const* rows, std::size_t n, std::size_t at,
                                      hn::TFromD<D>* first, hn::TFromD<D>* second) {
    const auto share = hn::Set(d, hn::TFromD<D>{1} / static_cast<hn::TFromD<D>>(n));
    auto sum = part.load(rows[0] + at);
    for (std::size_t r = 1; r < n; ++r) sum = hn::Add(sum, part.load(rows[r] + at));
    const auto middle = hn::Mul(sum, share);
    auto distances = hn::Zero(d);
    auto squares = distances;
    for (std::size_t r = 0; r < n; ++r) {
      const auto x = hn::Sub(part.load(rows[r] + at), middle);
      distances = hn::Add(distances, x);
      squares = hn::MulAdd(x, x, squares);
    }
    const auto off = hn::Mul(distances, share);
    part.put(hn::Add(middle, off), first + at);
    part.put(hn::Sub(squares, hn::Mul(distances, off)), second + at);
  }

  template <class D, class Part>
  static HWY_INLINE void merge_at(D d, const Part& part, States<const hn::TFromD<D>> a, double in_a,
                                  States<const hn::TFromD<D>> b, double in_b, States<hn::TFromD<D>> to, std::size_t at) {
    using T = hn::TFromD<D>;
    const double share = in_b / (in_a + in_b);
    const auto mean = part.load(a.first + at);
    const auto apart = hn::Sub(part.load(b.first + at), mean);
    const auto squares = hn::Add(part.load(a.first + a.step + at), part.load(b.first + b.step + at));
    const auto between = hn::Mul(hn::Mul(apart, apart), hn::Set(d, static_cast<T>(in_a * share)));
    part.put(hn::MulAdd(apart, hn::Set(d, static_cast<T>(share)), mean), to.first + at);
    part.put(hn::Add(squares, between), to.first + to.step + at);
  }
};

// The largest, and the sum of e^(x - largest). An infinite or NaN largest is not subtracted: e^x then says what the sum is.
struct SumOfExponentials {
  template <class T>
  static constexpr T first_of_none = -std::numeric_limits<T>::infinity();

  template <class D>
  static HWY_INLINE hn::Vec<D> shift_of(D d, hn::Vec<D> largest) {
    return hn::IfThenElseZero(hn::Lt(hn::Abs(largest), hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity())), largest);
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> exp(D, hn::Vec<D> x) {
    return Exp::apply(VectorMath<D>(), x);
  }

  template <class T>
  static HWY_INLINE void fold(const T* elements, std::size_t count, T* state) {
    const WideTag<T> d;
    const std::size_t lanes = hn::Lanes(d);
    const T largest = fold_lanes<Largest>(elements, count, T{0});
    const auto shift = shift_of(d, hn::Set(d, largest));
    auto s0 = hn::Zero(d), s1 = s0;
    std::size_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      s0 = hn::Add(s0, exp(d, hn::Sub(hn::LoadU(d, elements + i), shift)));
      s1 = hn::Add(s1, exp(d, hn::Sub(hn::LoadU(d, elements + i + lanes), shift)));
    }
    for (; i < count; i += lanes) {
      const std::size_t some = count - i < lanes ? count - i : lanes;
      const auto x = some == lanes ? hn::LoadU(d, elements + i) : Source<WideTag<T>>(elements + i).load(some);
      s0 = hn::Add(s0, hn::IfThenElseZero(hn::FirstN(d, some), exp(d, hn::Sub(x, shift))));
    }
    state[0] = largest;
    state[1] = joined_lanes<Total>(d, hn::Add(s0, s1));
  }
  template <class T>
  static HWY_INLINE void fold_few(const T* elements, std::size_t count, T* state) {
    fold(elements, count, state);
  }

  template <class D, class Part>
  static HWY_INLINE void fold_rows_at(D d, const Part& part, const hn::TFromD<D>* const* rows, std::size_t n, std::size_t at,
                                      hn::TFromD<D>* first, hn::TFromD<D>* second) {
    auto largest = part.load(rows[0] + at);
    for (std::size_t r = 1; r < n; ++r) largest = Largest::combine(d, largest, part.load(rows[r] + at));
    const auto shift = shift_of(d, largest);
    auto sum = hn::Zero(d);
    for (std::size_t r = 0; r < n; ++r) sum = hn::Add(sum, exp(d, hn::Sub(part.load(rows[r] + at), shift)));
    part.put(largest, first + at);
    part.put(sum, second + at);
  }

  template <class D, class Part>
  static HWY_INLINE void merge_at(D d, const Part& part, States<const hn::TFromD<D>> a, double /*in_a*/,
                                  States<const hn::TFromD<D>> b, double /*in_b*/, States<hn::TFromD<D>> to, std::size_t at) {
    const auto first = part.load(a.first + at);
    const auto second = part.load(b.first + at);
    const auto largest = Largest::combine(d, first, second);
    const auto shift = shift_of(d, largest);
    // Of two states one has the largest already; the other's sum shrinks.
    const auto sum = hn::Add(hn::Mul(part.load(a.first + a.step + at), exp(d, hn::Sub(first, shift))),
                             hn::Mul(part.load(b.first + b.step + at), exp(d, hn::Sub(second, shift))));
    part.put(largest, to.first + at);
    part.put(sum, to.first + to.step + at);
  }
};

template <class R, class T>
void fold_two(const T* elements, std::size_t count, T, T* state) {
  R::fold(elements, count, state);
}
template <class R, class T>
void fold_each_of_two(const T* elements, std::size_t length, T, States<T> states, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    T state[2];
    if (length > 16) {
      R::fold(elements + i * length, length, state);
    } else {
      R::fold_few(elements + i * length, length, state);
    }
    states.first[i] = state[0];
    states.first[states.step + i] = state[1];
  }
}
template <class R, class T>
void fold_rows_of_two(const T* const* rows, std::size_t n, T, States<T> states, std::size_t count) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    R::fold_rows_at(d, WholeVector<Tag<T>>{}, rows, n, i, states.first, states.first + states.step);
  }
  if (i < count) R::fold_rows_at(d, PartOfVector<Tag<T>>{count - i}, rows, n, i, states.first, states.first + states.step);
}
template <class R, class T>
void merge_two(States<const T> a, double in_a, States<const T> b, double in_b, States<T> states, std::size_t count) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) R::merge_at(d, WholeVector<Tag<T>>{}, a, in_a, b, in_b, states, i);
  if (i < count) R::merge_at(d, PartOfVector<Tag<T>>{count - i}, a, in_a, b, in_b, states, i);
}

template <class R, class T>
ReductionRows<T> rows_of_two() {
  return {
      2, {R::template first_of_none<T>, T{0}}, fold_two<R, T>, fold_each_of_two<R, T>, fold_rows_of_two<R, T>, merge_two<R, T>};
}

std::tuple<MomentRows<float>, MomentRows<double>> make_moment_rows() {
  return {{rows_of_two<Moments, float>(), rows_of_two<SumOfExponentials, float>()},
          {rows_of_two<Moments, double>(), rows_of_two<SumOfExponentials, double>()}};
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_moment_rows);
template <class T>
const MomentRows<T>& moment_rows() {
  static const MomentRows<T> rows = std::get<MomentRows<T>>(HWY_DYNAMIC_DISPATCH(make_moment_rows)());
  return rows;
}
template const MomentRows<float>& moment_rows<float>();
template const MomentRows<double>& moment_rows<double>();
}  // namespace tutti::kernels
#endif
