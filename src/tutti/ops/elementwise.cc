#include "tutti/ops/elementwise.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/executor.h"

namespace tutti {

namespace {

void infer_binary(Inference& in) {
  in.expect_inputs(2);
  if (in.dtype(0) != in.dtype(1)) in.reject_dtypes("both inputs must have one dtype");
  if (in.shape(0) == in.shape(1)) [[likely]] {
    in.output(in.dtype(0), in.shape(0));
  } else {
    in.output(in.dtype(0), broadcast_inputs(in));
  }
}

void infer_floating(Inference& in) {
  in.expect_inputs(1);
  if (!is_floating(in.dtype(0))) in.reject_dtypes("it is defined for floating dtypes only");
  in.output(in.dtype(0), in.shape(0));
}

void infer_relu(Inference& in) {
  in.expect_inputs(1);
  if (in.dtype(0) == DType::boolean) in.reject_dtypes("it is not defined for bool");
  in.output(in.dtype(0), in.shape(0));
}

void infer_where(Inference& in) {
  in.expect_inputs(3);
  if (in.dtype(0) != DType::boolean) in.reject_dtypes("the condition must be bool");
  if (in.dtype(1) != in.dtype(2)) in.reject_dtypes("both choices must have one dtype");
  in.output(in.dtype(1), broadcast_inputs(in));
}

void infer_add_n(Inference& in) {
  if (in.inputs() == 0) throw InvalidArgument("AddN needs at least one tensor; an empty list was given", in.site());
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

OpDefinition elementwise(const char* name, Infer infer) {
  return {.name = name, .infer = infer, .access = {Access::consume}, .is_elementwise = true};
}

const OpRow& add_row = register_op(elementwise("AddV2", infer_binary));
const OpRow& mul_row = register_op(elementwise("Mul", infer_binary));
const OpRow& exp_row = register_op(elementwise("Exp", infer_floating));
const OpRow& relu_row = register_op(elementwise("Relu", infer_relu));
const OpRow& where_row =
    register_op({.name = "SelectV2", .infer = infer_where, .access = {Access::read, Access::consume}, .is_elementwise = true});
const OpRow& add_n_row = register_op(elementwise("AddN", infer_add_n));
const OpRow& cast_row = register_op({.name = "Cast", .infer = infer_cast, .is_elementwise = true});

DType dtype_of_arg(const TensorArg& arg, Site site) {
  if (arg.is_number())
    return arg.number().kind == DTypeKind::floating  ? DType::f32
           : arg.number().kind == DTypeKind::integer ? DType::i64
                                                     : DType::boolean;
  return arg.tensor().dtype(site);
}

DType common_dtype(const TensorArg& a, const TensorArg& b, Site site) {
  if (a.is_number() == b.is_number()) return promote(dtype_of_arg(a, site), dtype_of_arg(b, site));
  return a.is_number() ? detail::dtype_next_to(a.number(), b.tensor().dtype(site))
                       : detail::dtype_next_to(b.number(), a.tensor().dtype(site));
}

Tensor binary(const OpRow& row, TensorArg& a, TensorArg& b, Site site) {
  const DType dtype = common_dtype(a, b, site);
  Tensor held_a;
  Tensor held_b;
  OpCall call(row, site);
  call.add(detail::input_of(a, dtype, held_a, site));
  call.add(detail::input_of(b, dtype, held_b, site));
  execute(call);
  a.let_go();
  b.let_go();
  return std::move(call.outputs[0]);
}

Tensor unary(const OpRow& row, TensorArg& x, Site site) {
  Tensor held;
  OpCall call(row, site);
  call.add(detail::input_of(x, dtype_of_arg(x, site), held, site));
  execute(call);
  x.let_go();
  return std::move(call.outputs[0]);
}

}  // namespace

Tensor add(TensorArg a, TensorArg b, Site site) { return binary(add_row, a, b, site); }
Tensor mul(TensorArg a, TensorArg b, Site site) { return binary(mul_row, a, b, site); }
Tensor exp(TensorArg x, Site site) { return unary(exp_row, x, site); }
Tensor relu(TensorArg x, Site site) { return unary(relu_row, x, site); }

Tensor where(TensorArg condition, TensorArg a, TensorArg b, Site site) {
  const DType dtype = common_dtype(a, b, site);
  Tensor held_a;
  Tensor held_b;
  Tensor held_condition;
  OpCall call(where_row, site);
  call.add(detail::input_of(condition, dtype_of_arg(condition, site), held_condition, site));
  call.add(detail::input_of(a, dtype, held_a, site));
  call.add(detail::input_of(b, dtype, held_b, site));
  execute(call);
  a.let_go();
  b.let_go();
  return std::move(call.outputs[0]);
}

Tensor add_n(std::span<const Tensor> tensors, Site site) {
  if (tensors.empty()) throw InvalidArgument("add_n needs at least one tensor; an empty list was given", site);
  OpCall call(add_n_row, site);
  for (const Tensor& tensor : tensors) call.add(tensor);
  execute(call);
  return std::move(call.outputs[0]);
}

Tensor cast(const Tensor& x, DType dtype, Site site) {
  if (x.dtype(site) == dtype) return x;
  OpCall call(cast_row, site);
  call.add(x);
  call.attributes = Attributes(CastAttributes{dtype});
  execute(call);
  return std::move(call.outputs[0]);
}

}  // namespace tutti
