// Sums, products and their like.
#include "tutti/kernels/cpu/arithmetic.h"

#include <string_view>

#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/arithmetic.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
auto make_arithmetic() { return rows_of(Arithmetic{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_arithmetic);

Row arithmetic_row(const ScalarOp& op, DType dtype) {
  static const FamilyRows<scalar::Arithmetic> rows = HWY_DYNAMIC_DISPATCH(make_arithmetic)();
  const std::size_t number = []<int inputs, class... F>(ScalarOps<inputs, F...>, std::string_view name) {
    std::size_t at = 0;
    (void)((F::op.name == name || (++at, false)) || ...);
    return at;
  }(scalar::Arithmetic{}, op.name);
  return rows.at(number)[static_cast<std::size_t>(dtype)];
}

[[maybe_unused]] const bool arithmetic_registered =
    register_family<scalar::Arithmetic, [] { return HWY_DYNAMIC_DISPATCH(make_arithmetic)(); }>();
}  // namespace tutti::kernels
#endif
