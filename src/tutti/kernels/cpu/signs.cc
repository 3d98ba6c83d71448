// Signs, squares and roots.
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/signs.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
auto make_signs() { return rows_of(Signs{}); }
auto make_roots() { return rows_of(Roots{}); }
auto make_signs_of_others() { return rows_of(SignsOfOthers{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_signs);
[[maybe_unused]] const bool signs_registered =
    register_family<scalar::Signs, [] { return HWY_DYNAMIC_DISPATCH(make_signs)(); }>();
HWY_EXPORT(make_roots);
[[maybe_unused]] const bool roots_registered =
    register_family<scalar::Roots, [] { return HWY_DYNAMIC_DISPATCH(make_roots)(); }>();
HWY_EXPORT(make_signs_of_others);
[[maybe_unused]] const bool signs_of_others_registered =
    register_family<scalar::SignsOfOthers, [] { return HWY_DYNAMIC_DISPATCH(make_signs_of_others)(); }>();
}  // namespace tutti::kernels
#endif
