#include "tutti/ops/elementwise.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/ops/scalar_call.h"

namespace tutti {

namespace {

void infer_where(Inference& in) {
  in.expect_inputs(3);
  if (in.dtype(0) != DType::boolean) in.reject_dtypes("the condition must be bool");
  if (in.dtype(1) != in.dtype(2)) in.reject_dtypes("both choices must have one dtype");
  in.output(in.dtype(1), broadcast_inputs(in));
}

void infer_add_n(Inference& in) {
  if (in.inputs() == 0) throw InvalidArgument("add_n needs at least one tensor; an empty list was given", in.site());
  for (std::size_t i = 1; i < in.inputs(); ++i) {
    if (in.dtype(i) != in.dtype(0)) in.reject_dtypes("all inputs must have one dtype");
    if (!(in.shape(i) == in.shape(0))) in.reject_shapes("all inputs must have one shape");
  }
  in.output(in.dtype(0), in.shape(0));
}

struct CastAttributes {
  DType to;
};

void infer_cast(Inference& in) {
  in.expect_inputs(1);
  in.output(in.attributes<CastAttributes>().to, in.shape(0));
}

const OpRow& where_row = register_op({.name = "SelectV2",
                                      .function = "where",
                                      .infer = infer_where,
                                      .access = {Access::read, Access::consume},
                                      .is_elementwise = true});
const OpRow& add_n_row =
    register_op({.name = "AddN", .function = "add_n", .infer = infer_add_n, .access = {Access::consume}, .is_elementwise = true});
const OpRow& cast_row = register_op({.name = "Cast", .function = "cast", .infer = infer_cast, .is_elementwise = true});

}  // namespace

using detail::binary;
using detail::unary;

namespace {

// What leaves integers as they are.
template <class F>
Tensor unary_of_floats(TensorArg& x, Site site) {
  if (kind_of(detail::dtype_of_arg(x, site)) == DTypeKind::integer) return positive(x, site);
  return unary<F>(x, site);
}

}  // namespace

Tensor add(TensorArg a, TensorArg b, Site site) { return binary<scalar::Add>(a, b, site); }
Tensor subtract(TensorArg a, TensorArg b, Site site) { return binary<scalar::Subtract>(a, b, site); }
Tensor multiply(TensorArg a, TensorArg b, Site site) { return binary<scalar::Multiply>(a, b, site); }
Tensor divide(TensorArg a, TensorArg b, Site site) {
  const DType dtype = detail::common_dtype({&a, &b}, site);
  if (!is_floating(dtype)) {
    throw DTypeError(text("divide takes floating dtypes; these are ", to_string(dtype),
                          ". Use floor_divide, or cast to a floating dtype first"),
                     site);
  }
  return binary<scalar::Divide>(a, b, site);
}
Tensor floor_divide(TensorArg a, TensorArg b, Site site) { return binary<scalar::FloorDivide>(a, b, site); }
Tensor remainder(TensorArg a, TensorArg b, Site site) { return binary<scalar::Remainder>(a, b, site); }
Tensor pow(TensorArg a, TensorArg b, Site site) {
  const bool is_square = !a.is_number() && b.is_number() && b.number().kind == DTypeKind::integer && b.number().integer == 2 &&
                         !b.number().is_too_large;
  return is_square ? unary<scalar::Square>(a, site, {"pow"}) : binary<scalar::Power>(a, b, site);
}
Tensor maximum(TensorArg a, TensorArg b, Site site) { return binary<scalar::Maximum>(a, b, site); }
Tensor minimum(TensorArg a, TensorArg b, Site site) { return binary<scalar::Minimum>(a, b, site); }
Tensor clip(TensorArg x, std::optional<TensorArg> min, std::optional<TensorArg> max, Site site) {
  if (min && max) return detail::ternary<scalar::Clip>(x, *min, *max, site);
  if (min) return binary<scalar::Maximum>(x, *min, site, {"clip"});
  if (max) return binary<scalar::Minimum>(x, *max, site, {"clip"});
  return positive(x, site);
}

Tensor abs(TensorArg x, Site site) {
  if (detail::dtype_of_arg(x, site) == DType::u8) return positive(x, site);
  return unary<scalar::Abs>(x, site);
}
Tensor negative(TensorArg x, Site site) { return unary<scalar::Negative>(x, site); }
Tensor positive(TensorArg x, Site site) {
  if (detail::dtype_of_arg(x, site) == DType::boolean) {
    throw DTypeError("positive takes numbers; the dtype is bool. Cast it to one that holds numbers first", site);
  }
  if (x.is_number()) return add(x, 0, site);
  Tensor same = x.tensor();
  x.let_go();
  return same;
}
Tensor sign(TensorArg x, Site site) { return unary<scalar::Sign>(x, site); }
Tensor square(TensorArg x, Site site) { return unary<scalar::Square>(x, site); }
Tensor sqrt(TensorArg x, Site site) { return unary<scalar::Sqrt>(x, site); }
Tensor copysign(TensorArg a, TensorArg b, Site site) { return binary<scalar::CopySign>(a, b, site); }
Tensor floor(TensorArg x, Site site) { return unary_of_floats<scalar::Floor>(x, site); }
Tensor ceil(TensorArg x, Site site) { return unary_of_floats<scalar::Ceil>(x, site); }
Tensor trunc(TensorArg x, Site site) { return unary_of_floats<scalar::Trunc>(x, site); }
Tensor round(TensorArg x, Site site) { return unary_of_floats<scalar::Round>(x, site); }

Tensor where(TensorArg condition, TensorArg a, TensorArg b, Site site) {
  const DType dtype = detail::common_dtype({&a, &b}, site);
  Tensor held_a;
  Tensor held_b;
  Tensor held_condition;
  OpCall call(where_row, site);
  call.add(detail::input_of(condition, detail::dtype_of_arg(condition, site), held_condition, site));
  call.add(detail::input_of(a, dtype, held_a, site));
  call.add(detail::input_of(b, dtype, held_b, site));
  dispatch(call);
  for (const TensorArg* arg : {&condition, &a, &b}) arg->let_go();
  return std::move(call.outputs[0]);
}

Tensor add_n(std::span<const Tensor> tensors, Site site) {
  if (tensors.empty()) throw InvalidArgument("add_n needs at least one tensor; an empty list was given", site);
  OpCall call(add_n_row, site);
  for (const Tensor& tensor : tensors) call.add(tensor);
  return dispatch_one(call);
}

Tensor cast(const Tensor& x, DType dtype, Site site) {
  if (x.dtype(site) == dtype) return x;
  OpCall call(cast_row, site);
  call.add(x);
  call.attributes = Attributes(CastAttributes{dtype});
  return dispatch_one(call);
}

}  // namespace tutti
