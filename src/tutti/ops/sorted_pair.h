// A sort along the last axis that also says where each element came from. For the files that build on it; not for users.
#pragma once

#include "tutti/tensor/tensor.h"

namespace tutti::detail {

struct SortedPair {
  Tensor values;
  Tensor indices;  // int64
};
SortedPair sort_with_indices(const Tensor& x, Site site);

}  // namespace tutti::detail
