// Comparisons, kinds of numbers, bits and truth values.
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/comparisons.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
using ComparisonsFamilies = std::tuple<Equalities, Orders, Tests, Bits, Shifts, Complements>;
auto make_comparisons() { return rows_of(ComparisonsFamilies{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_comparisons);
[[maybe_unused]] static const bool is_registered =
    register_families<[] { return HWY_DYNAMIC_DISPATCH(make_comparisons)(); }>(HWY_NAMESPACE::ComparisonsFamilies{});
}  // namespace tutti::kernels
#endif
