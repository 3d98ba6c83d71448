// Comparisons.
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/comparisons.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
auto make_equalities() { return rows_of(Equalities{}); }
auto make_orders() { return rows_of(Orders{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_equalities);
[[maybe_unused]] const bool equalities_registered =
    register_family<scalar::Equalities, [] { return HWY_DYNAMIC_DISPATCH(make_equalities)(); }>();
HWY_EXPORT(make_orders);
[[maybe_unused]] const bool orders_registered =
    register_family<scalar::Orders, [] { return HWY_DYNAMIC_DISPATCH(make_orders)(); }>();
}  // namespace tutti::kernels
#endif
