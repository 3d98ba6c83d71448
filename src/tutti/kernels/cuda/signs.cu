// Signs, squares and roots.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool signs_registered = register_family(Signs{});
[[maybe_unused]] static const bool roots_registered = register_family(Roots{});
[[maybe_unused]] static const bool signs_of_others_registered = register_family(SignsOfOthers{});

}  // namespace tutti::kernels::cuda
