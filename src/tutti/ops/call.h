// Calling ops by name: how a user's own op, registered with register_op, is used.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "tutti/exec/op_call.h"

namespace tutti {

// Every output of the op. The inputs' dtypes are taken as they are; the op's inference judges them.
std::vector<Tensor> call_op(const OpRow& op, std::span<const Tensor> inputs, const Attributes& attributes = {}, Site site = {});
std::vector<Tensor> call_op(std::string_view name, std::span<const Tensor> inputs, const Attributes& attributes = {},
                            Site site = {});
inline std::vector<Tensor> call_op(std::string_view name, std::initializer_list<Tensor> inputs, const Attributes& attributes = {},
                                   Site site = {}) {
  return call_op(name, std::span(inputs.begin(), inputs.size()), attributes, site);
}

}  // namespace tutti
