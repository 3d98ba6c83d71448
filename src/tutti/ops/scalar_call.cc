#include "tutti/ops/scalar_call.h"

#include <array>

#include "tutti/exec/dispatch.h"

namespace tutti::detail {

DType dtype_of_arg(const TensorArg& arg, Site site) {
  if (!arg.is_number()) return arg.tensor().dtype(site);
  switch (arg.number().kind) {
    case DTypeKind::floating: return DType::f32;
    case DTypeKind::integer: return DType::i64;
    case DTypeKind::boolean: break;
  }
  return DType::boolean;
}

DType common_dtype(std::initializer_list<const TensorArg*> args, Site site) {
  bool has_tensor = false;
  for (const TensorArg* arg : args) has_tensor = has_tensor || !arg->is_number();
  bool is_first = true;
  DType common = DType::boolean;
  for (const TensorArg* arg : args) {
    if (arg->is_number() && has_tensor) continue;
    const DType own = dtype_of_arg(*arg, site);
    common = is_first ? own : promote(common, own);
    is_first = false;
  }
  if (!has_tensor) return common;
  for (const TensorArg* arg : args) {
    if (arg->is_number()) common = dtype_next_to(arg->number(), common);
  }
  return common;
}

Tensor call_scalar_op(const OpRow& row, std::initializer_list<TensorArg*> args, Site site, CalledAs as) {
  const DType dtype = args.size() == 1 ? dtype_of_arg(**args.begin(), site)
                                       : common_dtype({args.begin()[0], args.begin()[1], args.begin()[args.size() - 1]}, site);
  std::array<Tensor, 3> held;
  OpCall call(row, site);
  call.called_as = as;
  std::size_t number = 0;
  for (TensorArg* arg : args) call.add(input_of(*arg, dtype, held[number++], site));
  dispatch(call);
  for (TensorArg* arg : args) arg->let_go();
  return std::move(call.outputs[0]);
}

}  // namespace tutti::detail
