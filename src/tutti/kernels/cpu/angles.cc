// Trigonometric functions and their inverses.
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/angles.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
auto make_circulars() { return rows_of(Circulars{}); }
auto make_inverse_circulars() { return rows_of(InverseCirculars{}); }
auto make_angles() { return rows_of(Angles{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_circulars);
[[maybe_unused]] const bool circulars_registered =
    register_family<scalar::Circulars, [] { return HWY_DYNAMIC_DISPATCH(make_circulars)(); }>();
HWY_EXPORT(make_inverse_circulars);
[[maybe_unused]] const bool inverse_circulars_registered =
    register_family<scalar::InverseCirculars, [] { return HWY_DYNAMIC_DISPATCH(make_inverse_circulars)(); }>();
HWY_EXPORT(make_angles);
[[maybe_unused]] const bool angles_registered =
    register_family<scalar::Angles, [] { return HWY_DYNAMIC_DISPATCH(make_angles)(); }>();
}  // namespace tutti::kernels
#endif
