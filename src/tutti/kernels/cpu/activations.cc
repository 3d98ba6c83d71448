// Activations of neural networks.
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/activations.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
auto make_rectifiers() { return rows_of(Rectifiers{}); }
auto make_activations() { return rows_of(Activations{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_rectifiers);
[[maybe_unused]] const bool rectifiers_registered =
    register_family<scalar::Rectifiers, [] { return HWY_DYNAMIC_DISPATCH(make_rectifiers)(); }>();
HWY_EXPORT(make_activations);
[[maybe_unused]] const bool activations_registered =
    register_family<scalar::Activations, [] { return HWY_DYNAMIC_DISPATCH(make_activations)(); }>();
}  // namespace tutti::kernels
#endif
