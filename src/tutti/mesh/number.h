// A C++ number that was taken in by its value, as an op function takes it. For the files of this module.
#pragma once

#include <cstdint>

#include "tutti/ops/patterns.h"
#include "tutti/ops/tensor_arg.h"

namespace tutti::detail {

inline TensorArg as_argument(const NumberArg& number, Site site) {
  const WeakScalar& value = number.value();
  switch (value.kind) {
    case DTypeKind::boolean: return {value.integer != 0, site};
    case DTypeKind::integer:
      return value.is_too_large ? TensorArg(static_cast<std::uint64_t>(value.integer), site) : TensorArg(value.integer, site);
    case DTypeKind::floating: break;
  }
  return {value.real, site};
}

}  // namespace tutti::detail
