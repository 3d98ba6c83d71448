#include "tutti/kernels/cpu/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/arithmetic_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

template <class T>
struct Wrapping {
  using Type = std::make_unsigned_t<T>;
};
template <>
struct Wrapping<float> {
  using Type = float;
};
template <>
struct Wrapping<double> {
  using Type = double;
};

template <class T>
void fill(ArithmeticRows& rows) {
  using W = typename Wrapping<T>::Type;  // the same bits come out, and overflow is defined
  const auto i = static_cast<std::size_t>(dtype_of<T>);
  rows.add[i] = binary<Add, Tag<W>>();
  rows.multiply[i] = binary<Multiply, Tag<W>>();
  rows.relu[i] = unary<Relu, Tag<T>>();
  if constexpr (std::is_floating_point_v<T>) rows.exp[i] = unary<Exp, WideTag<T>>();
}

ArithmeticRows make_arithmetic_rows() {
  ArithmeticRows rows;
  rows.add[static_cast<std::size_t>(DType::boolean)] = binary<Either, Tag<std::uint8_t>>();
  rows.multiply[static_cast<std::size_t>(DType::boolean)] = binary<Both, Tag<std::uint8_t>>();
  fill<std::uint8_t>(rows);
  fill<std::int8_t>(rows);
  fill<std::int16_t>(rows);
  fill<std::int32_t>(rows);
  fill<std::int64_t>(rows);
  fill<float>(rows);
  fill<double>(rows);
  return rows;
}

struct Same {
  template <class Math, class V>
  static HWY_INLINE V apply(const Math&, V x) {
    return x;
  }
};

std::array<RowPair, 4> make_copy_rows() {
  return {{unary<Same, Tag<std::uint8_t>>(), unary<Same, Tag<std::uint16_t>>(), unary<Same, Tag<std::uint32_t>>(),
           unary<Same, Tag<std::uint64_t>>()}};
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_arithmetic_rows);
const ArithmeticRows& arithmetic_rows() {
  static const ArithmeticRows rows = HWY_DYNAMIC_DISPATCH(make_arithmetic_rows)();
  return rows;
}

HWY_EXPORT(make_copy_rows);
const std::array<RowPair, 4>& copy_rows() {
  static const std::array<RowPair, 4> rows = HWY_DYNAMIC_DISPATCH(make_copy_rows)();
  return rows;
}
}  // namespace tutti::kernels
#endif
