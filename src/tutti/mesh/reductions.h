// Reductions of several tensors of one shape and dtype on one device. For the files of this module.
#pragma once

#include <vector>

#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/mesh.h"
#include "tutti/tensor/tensor.h"

namespace tutti::detail {

// In the order given; half precision is summed in f32. Of bools, sum and max are "or", prod and min are "and".
Tensor reduced(const std::vector<Tensor>& parts, Reduction reduction, Site site);

// One tensor for each of this process's devices, reduced over all of the mesh, on the first of them. For `train`.
Tensor reduced_on_first(const std::vector<Tensor>& local, const Mesh& mesh, Reduction reduction, Site site);

}  // namespace tutti::detail
