// Activations of neural networks, and their gradients.
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/activations.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
#include "tutti/exec/scalar_gradients.h"
using ActivationsFamilies = std::tuple<Activations, ActivationGradients>;
auto make_activations() { return rows_of(ActivationsFamilies{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_activations);
[[maybe_unused]] static const bool is_registered =
    register_families<[] { return HWY_DYNAMIC_DISPATCH(make_activations)(); }>(HWY_NAMESPACE::ActivationsFamilies{});
}  // namespace tutti::kernels
#endif
