// Signs, squares, roots and rounding to whole numbers.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool is_registered = register_families(Signs{}, Roots{}, SignsOfOthers{}, Roundings{});

}  // namespace tutti::kernels::cuda
