// Exponentials and logarithms.
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/exponentials.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
auto make_exponentials() { return rows_of(Exponentials{}); }
auto make_logarithms() { return rows_of(Logarithms{}); }
auto make_distances() { return rows_of(Distances{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_exponentials);
[[maybe_unused]] const bool exponentials_registered =
    register_family<scalar::Exponentials, [] { return HWY_DYNAMIC_DISPATCH(make_exponentials)(); }>();
HWY_EXPORT(make_logarithms);
[[maybe_unused]] const bool logarithms_registered =
    register_family<scalar::Logarithms, [] { return HWY_DYNAMIC_DISPATCH(make_logarithms)(); }>();
HWY_EXPORT(make_distances);
[[maybe_unused]] const bool distances_registered =
    register_family<scalar::Distances, [] { return HWY_DYNAMIC_DISPATCH(make_distances)(); }>();
}  // namespace tutti::kernels
#endif
