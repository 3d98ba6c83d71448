// Sorts along the last axis that say where each element came from. For the files that build on them; not for users.
#pragma once

#include "tutti/tensor/tensor.h"

namespace tutti::detail {

struct SortedPair {
  Tensor values;
  Tensor indices;  // int64
};
SortedPair sort_with_indices(const Tensor& x, Site site);
// argsort of one line of random int64.
Tensor order_of_random_keys(const Tensor& keys, Site site);

}  // namespace tutti::detail
