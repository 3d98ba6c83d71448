// Rounding to whole numbers.
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/roundings.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
auto make_roundings() { return rows_of(Roundings{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_roundings);
[[maybe_unused]] const bool roundings_registered =
    register_family<scalar::Roundings, [] { return HWY_DYNAMIC_DISPATCH(make_roundings)(); }>();
}  // namespace tutti::kernels
#endif
