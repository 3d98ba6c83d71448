// Bits and truth values.
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/bits.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
auto make_bits() { return rows_of(Bits{}); }
auto make_shifts() { return rows_of(Shifts{}); }
auto make_complements() { return rows_of(Complements{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_bits);
[[maybe_unused]] const bool bits_registered = register_family<scalar::Bits, [] { return HWY_DYNAMIC_DISPATCH(make_bits)(); }>();
HWY_EXPORT(make_shifts);
[[maybe_unused]] const bool shifts_registered =
    register_family<scalar::Shifts, [] { return HWY_DYNAMIC_DISPATCH(make_shifts)(); }>();
HWY_EXPORT(make_complements);
[[maybe_unused]] const bool complements_registered =
    register_family<scalar::Complements, [] { return HWY_DYNAMIC_DISPATCH(make_complements)(); }>();
}  // namespace tutti::kernels
#endif
