// The loops of reductions whose state is one number, over a type of combinations.h.
// Included once per instruction set, like vector_math.h: hence the odd guard.
#if defined(TUTTI_KERNELS_CPU_REDUCTION_LOOPS) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_KERNELS_CPU_REDUCTION_LOOPS
#undef TUTTI_KERNELS_CPU_REDUCTION_LOOPS
#else
#define TUTTI_KERNELS_CPU_REDUCTION_LOOPS
#endif

#include "tutti/kernels/cpu/reduction_lanes.h"
#include "tutti/kernels/cpu/reduction_rows.h"
#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// Both ways to take part of a row: a whole vector, or fewer elements at its end.
template <class D>
struct WholeVector {
  using T = hn::TFromD<D>;
  template <class E>
  HWY_INLINE hn::Vec<D> load(const E* from) const {
    return Source<D, E>(from).load();
  }
  HWY_INLINE void put(hn::Vec<D> v, T* to) const { hn::StoreU(v, D(), to); }
};
template <class D>
struct PartOfVector {
  using T = hn::TFromD<D>;
  std::size_t count;
  template <class E>
  HWY_INLINE hn::Vec<D> load(const E* from) const {
    return Source<D, E>(from).load(count);
  }
  HWY_INLINE void put(hn::Vec<D> v, T* to) const { store<D>(v, to, count); }
};

template <class R, class T>
void fold(const T* elements, std::size_t count, T parameter, T* state) {
  using L = Lane<R, T>;
  *state = static_cast<T>(fold_lanes<R>(reinterpret_cast<const L*>(elements), count, static_cast<L>(parameter)));
}

template <class R, class T>
void fold_each(const T* all, std::size_t length, T parameter, States<T> states, std::size_t count) {
  using L = Lane<R, T>;
  const auto* elements = reinterpret_cast<const L*>(all);
  auto* output = reinterpret_cast<L*>(states.first);
  if (length > 16) {
    for (std::size_t i = 0; i < count; ++i) fold<R, T>(all + i * length, length, parameter, states.first + i);
    return;
  }
  const hn::CappedTag<L, 1> one;
  const auto p = hn::Set(one, static_cast<L>(parameter));
  for (std::size_t i = 0; i < count; ++i) {
    const L* those = elements + i * length;
    auto state = R::map(one, hn::LoadU(one, those), p);
    for (std::size_t j = 1; j < length; ++j) state = with_vector<R>(one, state, those + j, p);
    hn::StoreU(state, one, output + i);
  }
}

template <class R, class D, class Part, class E>
HWY_INLINE void fold_rows_at(D d, const Part& part, const E* const* rows, std::size_t n, std::size_t at, hn::Vec<D> p,
                             hn::TFromD<D>* output) {
  auto state = R::map(d, part.load(rows[0] + at), p);
  for (std::size_t r = 1; r < n; ++r) state = R::combine(d, state, R::map(d, part.load(rows[r] + at), p));
  part.put(state, output + at);
}

template <class R, class L, class E>
HWY_INLINE void fold_lanes_of_rows(const E* const* rows, std::size_t n, L parameter, L* output, std::size_t count) {
  const Tag<L> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto p = hn::Set(d, parameter);
  std::size_t i = 0;
  if (n == 8) {
    for (; i + lanes <= count; i += lanes) {
      if constexpr (HasBest<R, L>) {
        BestSoFar<R, Tag<L>> a{R::identity(d), hn::Zero(d)};
        BestSoFar<R, Tag<L>> b = a;
        for (std::size_t r = 0; r < 8; r += 2) {
          a.add(d, rows[r] + i, p);
          b.add(d, rows[r + 1] + i, p);
        }
        a.add(d, b);
        if (hn::AllTrue(d, hn::Eq(a.sum, a.sum))) {
          hn::StoreU(a.state, d, output + i);
        } else {
          fold_rows_at<R>(d, WholeVector<Tag<L>>{}, rows, n, i, p, output);
        }
      } else {
        const auto a = with_vector<R>(d, mapped<R>(d, rows[0] + i, p), rows[1] + i, p);
        const auto b = with_vector<R>(d, mapped<R>(d, rows[2] + i, p), rows[3] + i, p);
        const auto c = with_vector<R>(d, mapped<R>(d, rows[4] + i, p), rows[5] + i, p);
        const auto e = with_vector<R>(d, mapped<R>(d, rows[6] + i, p), rows[7] + i, p);
        hn::StoreU(R::combine(d, R::combine(d, a, b), R::combine(d, c, e)), d, output + i);
      }
    }
  } else {
    for (; i + lanes <= count; i += lanes) fold_rows_at<R>(d, WholeVector<Tag<L>>{}, rows, n, i, p, output);
  }
  if (i < count) fold_rows_at<R>(d, PartOfVector<Tag<L>>{count - i}, rows, n, i, p, output);
}

template <class R, class T>
void fold_rows(const T* const* rows, std::size_t n, T parameter, States<T> states, std::size_t count) {
  using L = Lane<R, T>;
  fold_lanes_of_rows<R>(reinterpret_cast<const L* const*>(rows), n, static_cast<L>(parameter), reinterpret_cast<L*>(states.first),
                        count);
}

template <class R>
void fold_bf16(const bf16* elements, std::size_t count, float* state) {
  *state = fold_lanes<R>(elements, count, 0.0F);
}
template <class R>
void fold_rows_bf16(const bf16* const* rows, std::size_t n, States<float> states, std::size_t count) {
  fold_lanes_of_rows<R>(rows, n, 0.0F, states.first, count);
}

template <class R, class T>
void merge(States<const T> a, double, States<const T> b, double, States<T> states, std::size_t count) {
  using L = Lane<R, T>;
  const Tag<L> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* left = reinterpret_cast<const L*>(a.first);
  const auto* right = reinterpret_cast<const L*>(b.first);
  auto* output = reinterpret_cast<L*>(states.first);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(R::combine(d, hn::LoadU(d, left + i), hn::LoadU(d, right + i)), d, output + i);
  }
  if (i < count) {
    const PartOfVector<Tag<L>> part{count - i};
    part.put(R::combine(d, part.load(left + i), part.load(right + i)), output + i);
  }
}

template <class R, class T>
ReductionRows<T> rows_of_reduction() {
  const auto none = hn::GetLane(R::identity(hn::CappedTag<Lane<R, T>, 1>()));
  return {1, {static_cast<T>(none), T{}}, fold<R, T>, fold_each<R, T>, fold_rows<R, T>, merge<R, T>};
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
