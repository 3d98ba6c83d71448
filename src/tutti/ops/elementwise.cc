#include "tutti/ops/elementwise.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/executor.h"
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

const OpRow& where_row =
    register_op({.name = "SelectV2", .infer = infer_where, .access = {Access::read, Access::consume}, .is_elementwise = true});
const OpRow& add_n_row =
    register_op({.name = "AddN", .infer = infer_add_n, .access = {Access::consume}, .is_elementwise = true});
const OpRow& cast_row = register_op({.name = "Cast", .infer = infer_cast, .is_elementwise = true});

}  // namespace

using detail::binary;
using detail::unary;

Tensor add(TensorArg a, TensorArg b, Site site) { return binary<scalar::Add>(a, b, site); }
Tensor mul(TensorArg a, TensorArg b, Site site) { return binary<scalar::Multiply>(a, b, site); }
Tensor exp(TensorArg x, Site site) { return unary<scalar::Exp>(x, site); }
Tensor relu(TensorArg x, Site site) { return unary<scalar::Relu>(x, site); }

Tensor where(TensorArg condition, TensorArg a, TensorArg b, Site site) {
  const DType dtype = detail::common_dtype({&a, &b}, site);
  Tensor held_a;
  Tensor held_b;
  Tensor held_condition;
  OpCall call(where_row, site);
  call.add(detail::input_of(condition, detail::dtype_of_arg(condition, site), held_condition, site));
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
