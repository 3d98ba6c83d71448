// The gradients of arithmetic, activations and the functions of math.h.
#include <cmath>
#include <numbers>

#include "tutti/exec/scalar_ops.h"
#include "tutti/ops/activation.h"
#include "tutti/ops/comparison.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/gradient_rules.h"
#include "tutti/ops/math.h"
#include "tutti/ops/scalar_call.h"

namespace tutti {

namespace {

using detail::by_slope;
using detail::operand;
using detail::steps;

// Of input i, which may have been broadcast.
void give_summed(GradientCall& call, std::size_t i, const Tensor& gradient) {
  call.give(i, detail::sum_to(gradient, call.shape(i), call.site));
}
// The gradient where the mask holds, else 0; and the other way round.
Tensor where_so(const GradientCall& call, const Tensor& mask) { return where(mask, call.gradient(), 0, call.site); }
Tensor where_not(const GradientCall& call, const Tensor& mask) { return where(mask, 0, call.gradient(), call.site); }

void each_alike(GradientCall& call) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.wants(i)) give_summed(call, i, call.gradient());
  }
}
void difference(GradientCall& call) {
  if (call.wants(0)) give_summed(call, 0, call.gradient());
  if (call.wants(1)) give_summed(call, 1, negative(call.gradient(), call.site));
}
void product(GradientCall& call) {
  if (call.wants(0)) give_summed(call, 0, multiply(call.gradient(), operand(call, 1), call.site));
  if (call.wants(1)) give_summed(call, 1, multiply(call.gradient(), operand(call, 0), call.site));
}
void quotient(GradientCall& call) {
  Tensor of_first = divide(call.gradient(), operand(call, 1), call.site);
  if (call.wants(1)) give_summed(call, 1, negative(multiply(of_first, call.output(), call.site), call.site));
  if (call.wants(0)) give_summed(call, 0, of_first);
}
// Of two equal ones the first counts.
template <bool is_larger>
void extreme(GradientCall& call) {
  const TensorArg a = operand(call, 0);
  const TensorArg b = operand(call, 1);
  const Tensor takes_first = is_larger ? greater_equal(a, b, call.site) : less_equal(a, b, call.site);
  if (call.wants(0)) give_summed(call, 0, where_so(call, takes_first));
  if (call.wants(1)) give_summed(call, 1, where_not(call, takes_first));
}
// The upper bound wins over the lower one.
void limited(GradientCall& call) {
  const TensorArg x = operand(call, 0);
  const TensorArg low = operand(call, 1);
  const TensorArg high = operand(call, 2);
  const Tensor is_above = greater(maximum(x, low, call.site), high, call.site);
  if (call.wants(2)) give_summed(call, 2, where_so(call, is_above));
  if (!call.wants(0) && !call.wants(1)) return;
  const Tensor rest = where_not(call, is_above);
  const Tensor is_below = less(x, low, call.site);
  if (call.wants(0)) give_summed(call, 0, where(is_below, 0, rest, call.site));
  if (call.wants(1)) give_summed(call, 1, where(is_below, rest, 0, call.site));
}
void signed_like(GradientCall& call) {
  if (!call.wants(0)) return;
  const Tensor same = equal(signbit(operand(call, 0), call.site), signbit(operand(call, 1), call.site), call.site);
  give_summed(call, 0, where(same, call.gradient(), negative(call.gradient(), call.site), call.site));
}
void remainder_of(GradientCall& call) {
  if (call.wants(0)) give_summed(call, 0, call.gradient());
  if (!call.wants(1)) return;
  const Tensor times = floor_divide(operand(call, 0), operand(call, 1), call.site);
  give_summed(call, 1, negative(multiply(call.gradient(), times, call.site), call.site));
}
void power(GradientCall& call) {
  const TensorArg base = operand(call, 0);
  const TensorArg exponent = operand(call, 1);
  if (call.wants(0)) {
    // x^0 does not change with x, not even at 0, where x^-1 is infinite.
    const Tensor is_zero = equal(exponent, 0, call.site);
    const Tensor lower = where(is_zero, 1, subtract(exponent, 1, call.site), call.site);
    const Tensor slope = multiply(exponent, pow(base, lower, call.site), call.site);
    give_summed(call, 0, multiply(call.gradient(), slope, call.site));
  }
  if (call.wants(1)) {
    const Tensor has_logarithm = greater(base, 0, call.site);
    const Tensor logarithm = log(where(has_logarithm, base, 1, call.site), call.site);
    give_summed(call, 1, multiply(call.gradient(), multiply(call.output(), logarithm, call.site), call.site));
  }
}
// By the operands' distance: in a large result that of equal ones is rounded away.
void of_logaddexp(GradientCall& call) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (!call.wants(i)) continue;
    const Tensor share = sigmoid(subtract(operand(call, i), operand(call, 1 - i), call.site), call.site);
    give_summed(call, i, multiply(call.gradient(), share, call.site));
  }
}
// At the origin, where they have a corner and no angle, the gradients of hypot and atan2 are 0.
Tensor one_for_zero(const Tensor& x, Site site) { return where(equal(x, 0, site), 1, x, site); }
void of_hypot(GradientCall& call) {
  const Tensor distance = one_for_zero(call.output(), call.site);
  for (std::size_t i = 0; i < 2; ++i) {
    if (call.wants(i)) give_summed(call, i, multiply(call.gradient(), divide(operand(call, i), distance, call.site), call.site));
  }
}
void of_atan2(GradientCall& call) {
  const TensorArg y = operand(call, 0);
  const TensorArg x = operand(call, 1);
  const Tensor distance = add(square(x, call.site), square(y, call.site), call.site);
  const Tensor by_distance = divide(call.gradient(), one_for_zero(distance, call.site), call.site);
  if (call.wants(0)) give_summed(call, 0, multiply(by_distance, x, call.site));
  if (call.wants(1)) give_summed(call, 1, negative(multiply(by_distance, y, call.site), call.site));
}
void chosen(GradientCall& call) {
  const Tensor& condition = call.input(0);
  if (call.wants(1)) give_summed(call, 1, where_so(call, condition));
  if (call.wants(2)) give_summed(call, 2, where_not(call, condition));
}
void cast_back(GradientCall& call) { call.give(0, cast(call.gradient(), call.inputs[0].dtype, call.site)); }

// One pass each: what ReluGrad and GeluGrad are there for.
template <class F>
Tensor of_activation(TensorArg gradient, TensorArg at, Site site) {
  return detail::binary<F>(gradient, at, site);
}
void rectified(GradientCall& call) { call.give(0, of_activation<scalar::ReluGrad>(call.gradient(), call.output(), call.site)); }
void rectified_gradient(GradientCall& call) {  // with y it changes in steps
  if (call.wants(0)) call.give(0, of_activation<scalar::ReluGrad>(call.gradient(), call.input(1), call.site));
}
void by_erf(GradientCall& call) { call.give(0, of_activation<scalar::GeluGrad>(call.gradient(), call.input(0), call.site)); }
// The slope's own slope is (2 - x^2) times the density.
void by_erf_gradient(GradientCall& call) {
  const Tensor& x = call.input(1);
  if (call.wants(0)) call.give(0, of_activation<scalar::GeluGrad>(call.gradient(), x, call.site));
  if (!call.wants(1)) return;
  const Tensor squared = square(x, call.site);
  const Tensor density =
      multiply(exp(multiply(squared, -0.5, call.site), call.site), std::numbers::inv_sqrtpi / std::numbers::sqrt2, call.site);
  const Tensor slope = multiply(density, subtract(2, squared, call.site), call.site);
  call.give(1, multiply(multiply(call.gradient(), call.input(0), call.site), slope, call.site));
}

Tensor one_plus(const Tensor& x, Site site) { return add(x, 1, site); }
Tensor one_minus(const Tensor& x, Site site) { return subtract(1, x, site); }

// In the order of exec/scalar_functions.h.
template <class F>
bool rule(Gradient apply, std::uint8_t inputs = 0, std::uint8_t outputs = 0) {
  return register_gradient(F::op.name, {.apply = apply, .reads_inputs = inputs, .reads_outputs = outputs});
}
template <class F>
bool without(const char* why) {
  return register_gradient(F::op.name, no_gradient(why));
}

constexpr const char* gives_bools = "its result is true or false";
constexpr const char* takes_bits = "it works on whole numbers";

[[maybe_unused]] const bool arithmetic[] = {
    rule<scalar::Add>(each_alike),
    rule<scalar::Subtract>(difference),
    rule<scalar::Multiply>(product, reads::first | reads::second),
    rule<scalar::Divide>(quotient, reads::second, reads::first),
    rule<scalar::Maximum>(extreme<true>, reads::first | reads::second),
    rule<scalar::Minimum>(extreme<false>, reads::first | reads::second),
    rule<scalar::Clip>(limited, reads::every),
    rule<scalar::Abs>(by_slope<[](const Tensor& x, const Tensor&, Site site) { return sign(x, site); }>, reads::first),
    rule<scalar::Negative>([](GradientCall& call) { call.give(0, negative(call.gradient(), call.site)); }),
    rule<scalar::Sign>(steps),
    rule<scalar::Square>(by_slope<[](const Tensor& x, const Tensor&, Site site) { return multiply(x, 2, site); }>, reads::first),
    rule<scalar::Sqrt>(
        [](GradientCall& call) { call.give(0, divide(call.gradient(), multiply(call.output(), 2, call.site), call.site)); }, 0,
        reads::first),
    rule<scalar::CopySign>(signed_like, reads::first | reads::second),
    rule<scalar::Floor>(steps),
    rule<scalar::Ceil>(steps),
    rule<scalar::Trunc>(steps),
    rule<scalar::Round>(steps),
    rule<scalar::FloorDivide>(steps),
    rule<scalar::Remainder>(remainder_of, reads::first | reads::second),
    rule<scalar::Power>(power, reads::first | reads::second, reads::first),
    register_gradient("SelectV2", {.apply = chosen, .reads_inputs = reads::first}),
    register_gradient("AddN", {.apply = each_alike}),
    register_gradient("Cast", {.apply = cast_back}),
};

[[maybe_unused]] const bool functions[] = {
    rule<scalar::Exp>(by_slope<[](const Tensor&, const Tensor& y, Site) { return y; }>, 0, reads::first),
    rule<scalar::Expm1>(by_slope<[](const Tensor&, const Tensor& y, Site site) { return one_plus(y, site); }>, 0, reads::first),
    rule<scalar::Log>([](GradientCall& call) { call.give(0, divide(call.gradient(), call.input(0), call.site)); }, reads::first),
    rule<scalar::Log1p>(
        [](GradientCall& call) { call.give(0, divide(call.gradient(), one_plus(call.input(0), call.site), call.site)); },
        reads::first),
    rule<scalar::Log2>(
        [](GradientCall& call) {
          call.give(0, divide(call.gradient(), multiply(call.input(0), std::numbers::ln2, call.site), call.site));
        },
        reads::first),
    rule<scalar::Log10>(
        [](GradientCall& call) {
          call.give(0, divide(call.gradient(), multiply(call.input(0), std::numbers::ln10, call.site), call.site));
        },
        reads::first),
    rule<scalar::LogAddExp>(of_logaddexp, reads::first | reads::second),
    rule<scalar::Sin>(by_slope<[](const Tensor& x, const Tensor&, Site site) { return cos(x, site); }>, reads::first),
    rule<scalar::Cos>(by_slope<[](const Tensor& x, const Tensor&, Site site) { return negative(sin(x, site), site); }>,
                      reads::first),
    rule<scalar::Tan>(by_slope<[](const Tensor&, const Tensor& y, Site site) { return one_plus(square(y, site), site); }>, 0,
                      reads::first),
    rule<scalar::Asin>(
        [](GradientCall& call) {
          call.give(0,
                    divide(call.gradient(), sqrt(one_minus(square(call.input(0), call.site), call.site), call.site), call.site));
        },
        reads::first),
    rule<scalar::Acos>(
        [](GradientCall& call) {
          const Tensor root = sqrt(one_minus(square(call.input(0), call.site), call.site), call.site);
          call.give(0, negative(divide(call.gradient(), root, call.site), call.site));
        },
        reads::first),
    rule<scalar::Atan>(
        [](GradientCall& call) {
          call.give(0, divide(call.gradient(), one_plus(square(call.input(0), call.site), call.site), call.site));
        },
        reads::first),
    rule<scalar::Atan2>(of_atan2, reads::first | reads::second),
    rule<scalar::Hypot>(of_hypot, reads::first | reads::second, reads::first),
    rule<scalar::Sinh>(by_slope<[](const Tensor& x, const Tensor&, Site site) { return cosh(x, site); }>, reads::first),
    rule<scalar::Cosh>(by_slope<[](const Tensor& x, const Tensor&, Site site) { return sinh(x, site); }>, reads::first),
    rule<scalar::Tanh>(by_slope<[](const Tensor&, const Tensor& y, Site site) { return one_minus(square(y, site), site); }>, 0,
                       reads::first),
    rule<scalar::Asinh>(
        [](GradientCall& call) {
          call.give(0,
                    divide(call.gradient(), sqrt(one_plus(square(call.input(0), call.site), call.site), call.site), call.site));
        },
        reads::first),
    rule<scalar::Acosh>(
        [](GradientCall& call) {
          call.give(
              0, divide(call.gradient(), sqrt(subtract(square(call.input(0), call.site), 1, call.site), call.site), call.site));
        },
        reads::first),
    rule<scalar::Atanh>(
        [](GradientCall& call) {
          call.give(0, divide(call.gradient(), one_minus(square(call.input(0), call.site), call.site), call.site));
        },
        reads::first),
    rule<scalar::Erf>(by_slope<[](const Tensor& x, const Tensor&, Site site) {
                        return multiply(exp(negative(square(x, site), site), site), 2 * std::numbers::inv_sqrtpi, site);
                      }>,
                      reads::first),
};

[[maybe_unused]] const bool activations[] = {
    rule<scalar::Relu>(rectified, 0, reads::first),
    rule<scalar::ReluGrad>(rectified_gradient, reads::second),
    rule<scalar::GeluGrad>(by_erf_gradient, reads::first | reads::second),
    rule<scalar::Sigmoid>(
        by_slope<[](const Tensor&, const Tensor& y, Site site) { return multiply(y, one_minus(y, site), site); }>, 0,
        reads::first),
    rule<scalar::Silu>(by_slope<[](const Tensor& x, const Tensor& y, Site site) {
                         const Tensor s = sigmoid(x, site);
                         return add(s, multiply(y, one_minus(s, site), site), site);
                       }>,
                       reads::first, reads::first),
    rule<scalar::Gelu>(by_erf, reads::first),
    rule<scalar::GeluTanh>(
        by_slope<[](const Tensor& x, const Tensor&, Site site) {
          const double c = std::sqrt(2 / std::numbers::pi);
          const Tensor near = clip(x, -16, 16, site);  // beyond, squares may overflow and tanh is flat
          const Tensor squared = square(near, site);
          const Tensor inner = multiply(multiply(near, c, site), one_plus(multiply(squared, 0.044715, site), site), site);
          const Tensor t = tanh(inner, site);
          const Tensor inner_slope = multiply(one_plus(multiply(squared, 3 * 0.044715, site), site), 0.5 * c, site);
          const Tensor rest = multiply(multiply(near, one_minus(square(t, site), site), site), inner_slope, site);
          return add(multiply(one_plus(t, site), 0.5, site), rest, site);
        }>,
        reads::first),
};

[[maybe_unused]] const bool without_gradients[] = {
    without<scalar::Equal>(gives_bools),      without<scalar::NotEqual>(gives_bools),  without<scalar::Less>(gives_bools),
    without<scalar::LessEqual>(gives_bools),  without<scalar::IsNan>(gives_bools),     without<scalar::IsInf>(gives_bools),
    without<scalar::IsFinite>(gives_bools),   without<scalar::SignBit>(gives_bools),   without<scalar::LogicalNot>(gives_bools),
    without<scalar::LogicalAnd>(gives_bools), without<scalar::LogicalOr>(gives_bools), without<scalar::BitwiseAnd>(takes_bits),
    without<scalar::BitwiseOr>(takes_bits),   without<scalar::BitwiseXor>(takes_bits), without<scalar::Invert>(takes_bits),
    without<scalar::LeftShift>(takes_bits),   without<scalar::RightShift>(takes_bits),
};

}  // namespace

}  // namespace tutti
