// Relu and its like.
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/rectifiers.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
auto make_rectifiers() { return rows_of(Rectifiers{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_rectifiers);
[[maybe_unused]] const bool rectifiers_registered =
    register_family<scalar::Rectifiers, [] { return HWY_DYNAMIC_DISPATCH(make_rectifiers)(); }>();
}  // namespace tutti::kernels
#endif
