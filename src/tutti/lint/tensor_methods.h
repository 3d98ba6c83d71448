// What methods tensors have.
#pragma once

#include <string_view>

namespace tutti::lint {

bool is_tensor_method(std::string_view name);

}  // namespace tutti::lint
