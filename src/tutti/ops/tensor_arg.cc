#include "tutti/ops/tensor_arg.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/ops/elementwise.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::detail {

DType dtype_next_to(const WeakScalar& number, DType dtype) noexcept {
  if (number.kind <= kind_of(dtype)) return dtype;
  return number.kind == DTypeKind::floating ? DType::f32 : DType::i64;
}

OpInput scalar_input(const WeakScalar& number, DType dtype, Site site) {
  OpInput input;
  input.scalar_dtype = dtype;
  const bool is_real = number.kind == DTypeKind::floating;
  const double real = is_real ? number.real : static_cast<double>(number.integer);
  const auto refuse = [&] {
    const std::string shown = is_real               ? text(number.real)
                              : number.is_too_large ? text(static_cast<std::uint64_t>(number.integer))
                                                    : text(number.integer);
    throw InvalidArgument(text("the number ", shown, " does not fit in ", to_string(dtype),
                               "; use a dtype that holds it, or cast the tensor to one first"),
                          site);
  };
  if (number.is_too_large) refuse();
  visit_dtype(dtype, [&](auto element) {
    using T = decltype(element);
    T value{};
    if constexpr (std::is_same_v<T, bool>) {
      value = real != 0;
    } else if constexpr (std::is_integral_v<T>) {
      const bool is_whole = !is_real || (real >= -0x1p63 && real < 0x1p63 && std::trunc(real) == real);
      const std::int64_t whole = !is_whole ? 0 : is_real ? static_cast<std::int64_t>(real) : number.integer;
      if (!is_whole || !std::in_range<T>(whole)) refuse();
      value = static_cast<T>(whole);
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
  if (arg.tensor().dtype(site) == dtype) [[likely]]
    return {.tensor = &arg.tensor().impl(), .is_given_away = arg.is_given_away()};
  held = cast(arg.tensor(), dtype, site);
  return {.tensor = &held.impl(), .is_given_away = true};
}

}  // namespace tutti::detail
