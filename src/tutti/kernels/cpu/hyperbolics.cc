// Hyperbolic functions and their inverses.
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/hyperbolics.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
auto make_hyperbolics() { return rows_of(Hyperbolics{}); }
auto make_inverse_hyperbolics() { return rows_of(InverseHyperbolics{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_hyperbolics);
[[maybe_unused]] const bool hyperbolics_registered =
    register_family<scalar::Hyperbolics, [] { return HWY_DYNAMIC_DISPATCH(make_hyperbolics)(); }>();
HWY_EXPORT(make_inverse_hyperbolics);
[[maybe_unused]] const bool inverse_hyperbolics_registered =
    register_family<scalar::InverseHyperbolics, [] { return HWY_DYNAMIC_DISPATCH(make_inverse_hyperbolics)(); }>();
}  // namespace tutti::kernels
#endif
