// Reductions of several tensors of one shape and dtype that lie on one device. For the files of this module.
#pragma once

#include <vector>

#include "tutti/mesh/engines/exchange.h"
#include "tutti/tensor/tensor.h"

namespace tutti::detail {

// In the order given; half precision is summed in f32. Of bools, sum and max are "or", prod and min are "and".
Tensor reduced(const std::vector<Tensor>& parts, Reduction reduction, Site site);

}  // namespace tutti::detail
