#include "tutti/ops/tensor_arg.h"

#include <cstring>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/ops/elementwise.h"

namespace tutti::detail {

DType dtype_next_to(const WeakScalar& number, DType dtype) noexcept {
  if (number.kind <= kind_of(dtype)) return dtype;
  return number.kind == DTypeKind::floating ? DType::f32 : DType::i64;
}

OpInput scalar_input(const WeakScalar& number, DType dtype, Site site) {
  OpInput input;
  input.dtype = dtype;
  const double real = number.kind == DTypeKind::floating ? number.real : static_cast<double>(number.integer);
  visit_dtype(dtype, [&](auto element) {
    using T = decltype(element);
    T value{};
    if constexpr (std::is_same_v<T, bool>) {
      value = real != 0;
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(number.integer);
      if (static_cast<std::int64_t>(value) != number.integer) {
        throw InvalidArgument(text("the number ", number.integer, " does not fit in ", to_string(dtype), "; cast the tensor to a wider dtype first"), site);
      }
    } else if constexpr (std::is_same_v<T, double>) {
      value = real;
    } else {
      value = T(static_cast<float>(real));
    }
    std::memcpy(input.scalar.data(), &value, sizeof value);
  });
  return input;
}

OpInput input_of(const TensorArg& arg, DType dtype, Tensor& held, Site site) {
  if (arg.is_number()) return scalar_input(arg.number(), dtype, site);
  if (arg.tensor().dtype() == dtype) [[likely]] return {.tensor = &arg.tensor().impl(), .is_given_away = arg.is_given_away()};
  held = cast(arg.tensor(), dtype, site);
  return {.tensor = &held.impl(), .is_given_away = true};
}

}  // namespace tutti::detail
