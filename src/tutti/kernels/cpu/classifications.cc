// What kind of number a float is.
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/classifications.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
auto make_tests() { return rows_of(Tests{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_tests);
[[maybe_unused]] const bool tests_registered =
    register_family<scalar::Tests, [] { return HWY_DYNAMIC_DISPATCH(make_tests)(); }>();
}  // namespace tutti::kernels
#endif
