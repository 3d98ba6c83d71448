// The element-wise ops as types, for those who need their names and dtypes and not their code.
#pragma once

#include "tutti/exec/scalar_op.h"

namespace tutti::scalar {

#include "tutti/exec/scalar_functions.h"

#include "tutti/exec/scalar_gradients.h"  // uses those above

}  // namespace tutti::scalar
