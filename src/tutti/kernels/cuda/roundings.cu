// Rounding to whole numbers.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool roundings_registered = register_family(Roundings{});

}  // namespace tutti::kernels::cuda
