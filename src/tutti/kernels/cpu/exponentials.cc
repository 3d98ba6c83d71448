// Exponentials and logarithms.
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/exponentials.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
using ExponentialsFamilies = std::tuple<Exponentials, Logarithms, Distances>;
auto make_exponentials() { return rows_of(ExponentialsFamilies{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_exponentials);
[[maybe_unused]] static const bool is_registered =
    register_families<[] { return HWY_DYNAMIC_DISPATCH(make_exponentials)(); }>(HWY_NAMESPACE::ExponentialsFamilies{});
}  // namespace tutti::kernels
#endif
