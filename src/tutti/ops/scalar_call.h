// From a function of the element-wise kind to its row in the op table: promotion of the arguments, then one call.
// For the files that define such functions; not for users.
#pragma once

#include "tutti/exec/op_table.h"
#include "tutti/exec/scalar_ops.h"
#include "tutti/ops/tensor_arg.h"

namespace tutti::detail {

template <int inputs>
void infer_scalar_op(Inference& in, bool gives_bool) {
  in.expect_inputs(inputs);
  const DType dtype = in.dtype(0);
  bool is_one_shape = true;
  for (std::size_t i = 1; i < inputs; ++i) {
    if (in.dtype(i) != dtype) in.reject_dtypes("all inputs must have one dtype");
    is_one_shape = is_one_shape && in.shape(i) == in.shape(0);
  }
  const DType out = gives_bool ? DType::boolean : dtype;
  if (is_one_shape) [[likely]] {
    in.output(out, in.shape(0));
  } else {
    in.output(out, broadcast_inputs(in));
  }
}

// Registers the op before main begins, wherever `scalar_row<scalar::Sqrt, 1>` is used.
template <class F, int inputs>
inline const OpRow& scalar_row = register_op({.name = F::op.name,
                                              .function = F::op.function,
                                              .infer = [](Inference& in) { infer_scalar_op<inputs>(in, F::op.gives_bool); },
                                              .access = {Access::consume},
                                              .is_elementwise = true,
                                              .takes = F::op.takes});

// The dtype of an argument; numbers alone are f32, i64 or bool.
DType dtype_of_arg(const TensorArg& arg, Site site);
// The dtype several arguments are cast to; a number takes that of the tensors it meets.
DType common_dtype(std::initializer_list<const TensorArg*> args, Site site);

Tensor call_scalar_op(const OpRow& row, std::initializer_list<TensorArg*> args, Site site, CalledAs as = {});

template <class F>
Tensor unary(TensorArg& x, Site site, CalledAs as = {}) {
  return call_scalar_op(scalar_row<F, 1>, {&x}, site, as);
}
template <class F>
Tensor binary(TensorArg& a, TensorArg& b, Site site, CalledAs as = {}) {
  return call_scalar_op(scalar_row<F, 2>, {&a, &b}, site, as);
}
template <class F>
Tensor ternary(TensorArg& a, TensorArg& b, TensorArg& c, Site site) {
  return call_scalar_op(scalar_row<F, 3>, {&a, &b, &c}, site);
}

}  // namespace tutti::detail
