// One reduction over elements that are contiguous: several running vectors, then their lanes.
// Included once per instruction set, like vector_math.h: hence the odd guard.
#if defined(TUTTI_KERNELS_CPU_REDUCTION_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_KERNELS_CPU_REDUCTION_LANES
#undef TUTTI_KERNELS_CPU_REDUCTION_LANES
#else
#define TUTTI_KERNELS_CPU_REDUCTION_LANES
#endif

#include "tutti/kernels/cpu/combinations.h"
#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

template <class R, class T>
struct LaneType {
  using Type = T;
};
template <class R, class T>
  requires(std::is_integral_v<T> && R::wraps)
struct LaneType<R, T> {
  using Type = std::make_unsigned_t<T>;
};
template <class R, class T>
using Lane = typename LaneType<R, T>::Type;

// In pairs of lanes.
template <class R, class D>
HWY_INLINE hn::TFromD<D> joined_lanes(D d, hn::Vec<D> v) {
  using L = hn::TFromD<D>;
  const hn::CappedTag<L, 1> one;
  HWY_ALIGN L lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (std::size_t half = hn::Lanes(d) / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) {
      hn::StoreU(R::combine(one, hn::LoadU(one, lanes + i), hn::LoadU(one, lanes + i + half)), one, lanes + i);
    }
  }
  return lanes[0];
}

// E: as the elements are stored.
template <class R, class D, class E>
HWY_INLINE hn::Vec<D> mapped(D d, const E* elements, hn::Vec<D> parameter) {
  return R::map(d, Source<D, E>(elements).load(), parameter);
}
template <class R, class D, class E>
HWY_INLINE hn::Vec<D> with_vector(D d, hn::Vec<D> state, const E* elements, hn::Vec<D> parameter) {
  return R::combine(d, state, mapped<R>(d, elements, parameter));
}

// Extremes of floats: where no element is a NaN, which their sum tells, one instruction each is enough. (The sum is a NaN also
// where infinities of both signs meet; then nothing is gained.)
template <class R, class L>
concept HasBest = std::is_floating_point_v<L> && requires(hn::Vec<Tag<L>> v) { R::best(Tag<L>(), v, v); };

template <class R, class D>
struct BestSoFar {
  hn::Vec<D> state;
  hn::Vec<D> sum;

  HWY_INLINE void add(D d, const hn::TFromD<D>* elements, hn::Vec<D> p) {
    const auto x = R::map(d, hn::LoadU(d, elements), p);
    state = R::best(d, state, x);
    sum = hn::Add(sum, x);
  }
  HWY_INLINE void add(D d, const BestSoFar& other) {
    state = R::best(d, state, other.state);
    sum = hn::Add(sum, other.sum);
  }
};

// The state of `count` elements, several vectors' worth; false if there may be a NaN among them.
template <class R, class L>
HWY_INLINE bool fold_best(const L* elements, std::size_t count, L parameter, L& result) {
  using D = Tag<L>;
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const auto p = hn::Set(d, parameter);
  BestSoFar<R, D> b0{R::identity(d), hn::Zero(d)};
  BestSoFar<R, D> b1 = b0, b2 = b0, b3 = b0;
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    b0.add(d, elements + i, p);
    b1.add(d, elements + i + lanes, p);
    b2.add(d, elements + i + 2 * lanes, p);
    b3.add(d, elements + i + 3 * lanes, p);
  }
  for (; i + lanes <= count; i += lanes) b0.add(d, elements + i, p);
  if (i < count) b1.add(d, elements + count - lanes, p);  // some of them once more
  b0.add(d, b1);
  b2.add(d, b3);
  b0.add(d, b2);
  if (!hn::AllTrue(d, hn::Eq(b0.sum, b0.sum))) return false;
  result = joined_lanes<R>(d, b0.state);
  return true;
}

// Eight running states, joined in pairs.
template <class R, class L, class E>
HWY_INLINE L fold_lanes(const E* elements, std::size_t count, L parameter) {
  const Tag<L> d;
  const std::size_t lanes = hn::Lanes(d);
  if constexpr (HasBest<R, L>) {
    L best;
    if (count >= lanes && fold_best<R>(elements, count, parameter, best)) return best;
  }
  const auto p = hn::Set(d, parameter);
  const auto none = R::identity(d);
  auto s0 = none, s1 = none, s2 = none, s3 = none, s4 = none, s5 = none, s6 = none, s7 = none;
  std::size_t i = 0;
  if constexpr (!HasBest<R, L>) {  // with a NaN, which is rare, speed does not matter
    for (; i + 8 * lanes <= count; i += 8 * lanes) {
      s0 = with_vector<R>(d, s0, elements + i, p);
      s1 = with_vector<R>(d, s1, elements + i + lanes, p);
      s2 = with_vector<R>(d, s2, elements + i + 2 * lanes, p);
      s3 = with_vector<R>(d, s3, elements + i + 3 * lanes, p);
      s4 = with_vector<R>(d, s4, elements + i + 4 * lanes, p);
      s5 = with_vector<R>(d, s5, elements + i + 5 * lanes, p);
      s6 = with_vector<R>(d, s6, elements + i + 6 * lanes, p);
      s7 = with_vector<R>(d, s7, elements + i + 7 * lanes, p);
    }
  }
  for (; i + lanes <= count; i += lanes) s0 = with_vector<R>(d, s0, elements + i, p);
  if (i < count) {
    const auto rest = R::map(d, Source<Tag<L>, E>(elements + i).load(count - i), p);
    s1 = R::combine(d, s1, hn::IfThenElse(hn::FirstN(d, count - i), rest, none));
  }
  const auto low = R::combine(d, R::combine(d, s0, s1), R::combine(d, s2, s3));
  const auto high = R::combine(d, R::combine(d, s4, s5), R::combine(d, s6, s7));
  return joined_lanes<R>(d, R::combine(d, low, high));
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
