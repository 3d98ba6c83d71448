// Trigonometric functions and their inverses.
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/angles.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
using AnglesFamilies = std::tuple<Circulars, InverseCirculars, Angles>;
auto make_angles() { return rows_of(AnglesFamilies{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_angles);
[[maybe_unused]] static const bool is_registered =
    register_families<[] { return HWY_DYNAMIC_DISPATCH(make_angles)(); }>(HWY_NAMESPACE::AnglesFamilies{});
}  // namespace tutti::kernels
#endif
