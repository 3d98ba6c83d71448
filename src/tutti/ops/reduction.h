// Reductions over axes.
#pragma once

#include "tutti/tensor/tensor.h"

namespace tutti {

struct SumOptions {
  bool keep_dims = false;
};

// Over all axes. Integers and bools are summed as int64; floats keep their dtype and are added pairwise.
Tensor sum(const Tensor& x, Site site = {});
// Over these axes; negative ones count from the end.
Tensor sum(const Tensor& x, const Dims& axes, const SumOptions& options = {}, Site site = {});

}  // namespace tutti
