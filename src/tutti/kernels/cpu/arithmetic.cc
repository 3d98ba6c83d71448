// Sums, products, extremes, signs, roots and roundings: a few instructions each.
#include "tutti/kernels/cpu/arithmetic.h"

#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/arithmetic.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
using ArithmeticFamilies = std::tuple<Arithmetic, Extremes, Limits, Signs, SignsOfOthers, Roots, Roundings, Rectifiers>;
static_assert(std::is_same_v<Arithmetic, ScalarOps<2, Add, Multiply, Subtract, Divide>>);  // add_row takes the first
static_assert(std::is_same_v<std::tuple_element_t<7, ArithmeticFamilies>, Rectifiers>);    // relu_row
auto make_arithmetic() { return rows_of(ArithmeticFamilies{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_arithmetic);

Row add_row(DType dtype) {
  static const auto rows = std::get<0>(HWY_DYNAMIC_DISPATCH(make_arithmetic)())[0];
  return rows[static_cast<std::size_t>(dtype)];
}

Row relu_row(DType dtype) {
  static const auto rows = std::get<7>(HWY_DYNAMIC_DISPATCH(make_arithmetic)())[0];
  return rows[static_cast<std::size_t>(dtype)];
}

[[maybe_unused]] static const bool is_registered =
    register_families<[] { return HWY_DYNAMIC_DISPATCH(make_arithmetic)(); }>(HWY_NAMESPACE::ArithmeticFamilies{});
}  // namespace tutti::kernels
#endif
