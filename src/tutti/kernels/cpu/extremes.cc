// The larger, the smaller, and limits.
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/extremes.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
auto make_extremes() { return rows_of(Extremes{}); }
auto make_limits() { return rows_of(Limits{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_extremes);
[[maybe_unused]] const bool extremes_registered =
    register_family<scalar::Extremes, [] { return HWY_DYNAMIC_DISPATCH(make_extremes)(); }>();
HWY_EXPORT(make_limits);
[[maybe_unused]] const bool limits_registered =
    register_family<scalar::Limits, [] { return HWY_DYNAMIC_DISPATCH(make_limits)(); }>();
}  // namespace tutti::kernels
#endif
