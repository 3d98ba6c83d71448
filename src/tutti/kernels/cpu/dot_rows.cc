#include "tutti/kernels/cpu/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/dot_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

template <class D>
HWY_INLINE hn::Vec<D> loaded(D d, const hn::TFromD<D>* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> loaded(D d, const bf16* from) {
  const hn::Rebind<std::uint16_t, D> halves;
  const hn::Rebind<std::uint32_t, D> words;
  const auto bits = hn::LoadU(halves, reinterpret_cast<const std::uint16_t*>(from));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(words, bits)));
}

template <class D>
HWY_INLINE hn::Vec<D> with_products(D, hn::Vec<D> sum, hn::Vec<D> a, hn::Vec<D> b) {
  if constexpr (std::is_floating_point_v<hn::TFromD<D>>) {
    return hn::MulAdd(a, b, sum);
  } else {
    return hn::Add(sum, hn::Mul(a, b));
  }
}

// T: the elements, L: what they are worked on as (integers without their sign: those wrap), W: what that is to the caller.
template <class T, class L, class W>
W dot(const T* left, const T* right, std::size_t count) {
  using E = std::conditional_t<std::is_same_v<T, bf16>, bf16, L>;
  const Tag<L> d;
  const auto* a = reinterpret_cast<const E*>(left);
  const auto* b = reinterpret_cast<const E*>(right);
  const std::size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  std::size_t i = 0;
  const auto next = [&](auto sum, std::size_t k)
                        HWY_ATTR { return with_products(d, sum, loaded(d, a + i + k * lanes), loaded(d, b + i + k * lanes)); };
  for (; i + 8 * lanes <= count; i += 8 * lanes) {
    s0 = next(s0, 0);
    s1 = next(s1, 1);
    s2 = next(s2, 2);
    s3 = next(s3, 3);
    s4 = next(s4, 4);
    s5 = next(s5, 5);
    s6 = next(s6, 6);
    s7 = next(s7, 7);
  }
  for (; i + lanes <= count; i += lanes) s0 = next(s0, 0);
  const auto low = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
  const auto high = hn::Add(hn::Add(s4, s5), hn::Add(s6, s7));
  L sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(low, high)));
  for (; i < count; ++i) sum += static_cast<L>(a[i]) * static_cast<L>(b[i]);
  return static_cast<W>(sum);
}

DotRows make_dot_rows() {
  return {dot<float, float, float>, dot<double, double, double>, dot<bf16, float, float>,
          dot<std::int32_t, std::uint32_t, std::int32_t>, dot<std::int64_t, std::uint64_t, std::int64_t>};
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_dot_rows);
const DotRows& dot_rows() {
  static const DotRows rows = HWY_DYNAMIC_DISPATCH(make_dot_rows)();
  return rows;
}
}  // namespace tutti::kernels
#endif
