#include "tutti/ops/call.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"

namespace tutti {

std::vector<Tensor> call_op(const OpRow& op, std::span<const Tensor> inputs, const Attributes& attributes, Site site) {
  if (op.kind != OpKind::kernel)
    throw InvalidArgument(text("op ", op.name, " has no kernel to be called by name; call ", op.function, " instead"), site);
  OpCall call(op, site);
  for (const Tensor& input : inputs) call.add(input);
  call.attributes = attributes;
  dispatch(call);
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) out.push_back(call.outputs.take(i));
  return out;
}

std::vector<Tensor> call_op(std::string_view name, std::span<const Tensor> inputs, const Attributes& attributes, Site site) {
  return call_op(find_op(name, site), inputs, attributes, site);
}

}  // namespace tutti
