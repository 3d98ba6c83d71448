#include <bit>

#include "tutti/kernels/cpu/elementwise.h"
#include "tutti/kernels/cpu/registration.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/select.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// The condition bytes that belong to one vector of T, as a mask over it.
template <class T>
HWY_INLINE hn::Mask<Tag<T>> condition_mask(const std::uint8_t* condition) {
  const Tag<T> d;
  const auto bytes = hn::LoadU(hn::Rebind<std::uint8_t, Tag<T>>(), condition);
  if constexpr (sizeof(T) == 1) {
    return hn::Ne(bytes, hn::Zero(d));
  } else if constexpr (sizeof(T) == 8) {
    const auto words = hn::PromoteTo(hn::Rebind<std::uint32_t, Tag<T>>(), bytes);
    return hn::Ne(hn::PromoteTo(d, words), hn::Zero(d));
  } else {
    return hn::Ne(hn::PromoteTo(d, bytes), hn::Zero(d));
  }
}

template <class T>
void select_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  const Tag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  T* output = static_cast<T*>(out);
  const auto* condition = static_cast<const std::uint8_t*>(inputs[0]);
  std::uint8_t same[hn::MaxLanes(d)];
  const bool one_condition = (singles & 1U) != 0;
  if (one_condition) {
    std::memset(same, *condition, sizeof(same));
    condition = same;
  }
  Repeated<Tag<T>> repeated[2];
  Source<Tag<T>> a(inputs[1], (singles & 2U) != 0, repeated[0]);
  Source<Tag<T>> b(inputs[2], (singles & 4U) != 0, repeated[1]);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto chosen = hn::IfThenElse(condition_mask<T>(one_condition ? condition : condition + i), a.load(), b.load());
    hn::StoreU(chosen, d, output + i);
    a.advance();
    b.advance();
  }
  for (std::size_t j = 0; i + j < count; ++j) {
    const std::uint8_t first = condition[one_condition ? 0 : i + j];
    output[i + j] = first != 0 ? a.position[a.step == 0 ? 0 : j] : b.position[b.step == 0 ? 0 : j];
  }
}

// By element size: 1, 2, 4, 8 bytes.
std::array<Row, 4> make_select_rows() {
  return {select_row<std::uint8_t>, select_row<std::uint16_t>, select_row<std::uint32_t>, select_row<std::uint64_t>};
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_select_rows);

namespace {

void select(const KernelCall& call, KernelContext& context) {
  static const std::array<Row, 4> rows = HWY_DYNAMIC_DISPATCH(make_select_rows)();
  run_elementwise(call, context, Elementwise{rows[static_cast<std::size_t>(std::countr_zero(size_of(call.out().dtype)))]});
}

[[maybe_unused]] const bool is_registered = register_host_kernel("SelectV2", select);

}  // namespace

}  // namespace tutti::kernels
#endif
