#include "tutti/ops/linear.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/attributes.h"
#include "tutti/exec/dispatch.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/gradient_rules.h"
#include "tutti/ops/linear_algebra.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/reduction.h"
#include "tutti/ops/views.h"

namespace tutti {

namespace {

void infer_linear(Inference& in) {
  in.expect_inputs(3);
  const Shape& x = in.shape(0);
  const Shape& weight = in.shape(1);
  if (in.dtype(0) != in.dtype(1) || in.dtype(0) != in.dtype(2)) in.reject_dtypes("all inputs must have one dtype");
  if (x.size() != 2 || weight.size() != 2 || in.shape(2).size() != 1)
    in.reject_shapes("x and the weight must be matrices, the bias a vector");
  if (x[1] != weight[0]) in.reject_shapes("x must have a column for each row of the weight");
  if (in.shape(2)[0] != weight[1]) in.reject_shapes("the bias must have an element for each column of the weight");
  in.output(in.dtype(0), {x[0], weight[1]});
}

// Of x (rows, inputs) and the result's gradient (rows, outputs): the gradients of weight and bias.
void infer_linear_gradient(Inference& in) {
  in.expect_inputs(2);
  const Shape& x = in.shape(0);
  const Shape& gradient = in.shape(1);
  if (in.dtype(0) != in.dtype(1)) in.reject_dtypes("both inputs must have one dtype");
  if (x.size() != 2 || gradient.size() != 2 || x[0] != gradient[0])
    in.reject_shapes("both inputs must be matrices with as many rows");
  in.output(in.dtype(0), {x[1], gradient[1]});
  in.output(in.dtype(0), {gradient[1]});
}

void linear_rule(GradientCall& call);
void linear_gradient_rule(GradientCall& call);

const OpRow& linear_row = register_op({.name = "FusedMatMul",
                                       .function = "linear",
                                       .infer = infer_linear,
                                       .strided = true,
                                       .takes = floating_dtypes,
                                       .gradient = {.apply = linear_rule, .reads_inputs = reads::first | reads::second}});
const OpRow& linear_gradient_row = register_op({.name = "FusedMatMulGrad",
                                                .function = "linear",
                                                .infer = infer_linear_gradient,
                                                .strided = true,
                                                .takes = floating_dtypes,
                                                .gradient = {.apply = linear_gradient_rule, .reads_inputs = reads::every}});

void linear_rule(GradientCall& call) {
  const Tensor& g = call.gradient();
  if (call.wants(0)) call.give(0, matmul(g, matrix_transpose(call.input(1), call.site), call.site));
  if (call.wants(1) && call.wants(2)) {
    OpCall both(linear_gradient_row, call.site);
    both.add(call.input(0));
    both.add(g);
    both.attributes = Attributes(MatMulAttributes{.tf32 = allows_tf32()});
    dispatch(both);
    call.give(1, both.outputs.take(0));
    call.give(2, both.outputs.take(1));
  } else if (call.wants(1)) {
    call.give(1, matmul(matrix_transpose(call.input(0), call.site), g, call.site));
  } else if (call.wants(2)) {
    call.give(2, sum(g, 0, {}, call.site));
  }
}

// weight' = x^T g and bias' = the sum of g's rows: both are linear in x and in g.
void linear_gradient_rule(GradientCall& call) {
  const Tensor& of_weight = call.gradient(0);
  const Tensor& of_bias = call.gradient(1);
  if (call.wants(0) && of_weight.is_defined())
    call.give(0, matmul(call.input(1), matrix_transpose(of_weight, call.site), call.site));
  if (!call.wants(1)) return;
  if (!of_weight.is_defined()) {
    call.give(1, broadcast_to(of_bias, call.shape(1), call.site));
  } else if (of_bias.is_defined()) {
    call.give(1, linear(call.input(0), of_weight, of_bias, call.site));
  } else {
    call.give(1, matmul(call.input(0), of_weight, call.site));
  }
}

}  // namespace

namespace {
[[noreturn]] void raise_ranks(const Tensor& x, const Tensor& weight, Site site) {
  throw ShapeError(text("linear: x needs at least one axis and the weight two; the shapes are ", to_string(x.shape()), " and ",
                        to_string(weight.shape())),
                   site);
}
}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Site site) {
  const DType both = promote(x.dtype(site), weight.dtype(site));
  if (!bias.is_defined()) {
    if (!is_floating(both))
      throw DTypeError(
          text("linear: floating dtypes are needed; x is ", to_string(x.dtype()), ", the weight ", to_string(weight.dtype())),
          site);
    if (x.rank() == 0 || weight.rank() != 2) raise_ranks(x, weight, site);
    return matmul(x, weight, site);
  }
  const DType dtype = promote(both, bias.dtype(site));
  if (x.dtype() != dtype || weight.dtype() != dtype || bias.dtype() != dtype)
    return linear(cast(x, dtype, site), cast(weight, dtype, site), cast(bias, dtype, site), site);
  if (x.rank() != 2) {
    if (x.rank() == 0 || weight.rank() != 2) raise_ranks(x, weight, site);
    Shape shape = x.shape();
    const std::int64_t inputs = shape[shape.size() - 1];
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
    shape[shape.size() - 1] = weight.shape()[1];
    return reshape(linear(reshape(x, {rows, inputs}, site), weight, bias, site), shape, site);
  }
  OpCall call(linear_row, site);
  call.add(x);
  call.add(weight);
  call.add(bias);
  call.attributes = Attributes(LinearAttributes{.tf32 = allows_tf32()});
  return dispatch_one(call);
}

}  // namespace tutti
