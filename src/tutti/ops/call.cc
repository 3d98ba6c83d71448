#include "tutti/ops/call.h"

#include <iterator>

#include "tutti/exec/executor.h"

namespace tutti {

std::vector<Tensor> call_op(const OpRow& op, std::span<const Tensor> inputs, const Attributes& attributes, Site site) {
  OpCall call(op, site);
  for (const Tensor& input : inputs) call.add(input);
  call.attributes = attributes;
  execute(call);
  const auto first = std::make_move_iterator(call.outputs.begin());
  return {first, first + static_cast<std::ptrdiff_t>(call.output_count)};
}

std::vector<Tensor> call_op(std::string_view name, std::span<const Tensor> inputs, const Attributes& attributes, Site site) {
  return call_op(find_op(name, site), inputs, attributes, site);
}

}  // namespace tutti
