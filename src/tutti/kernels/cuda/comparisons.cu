// Comparisons.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool equalities_registered = register_family(Equalities{});
[[maybe_unused]] static const bool orders_registered = register_family(Orders{});

}  // namespace tutti::kernels::cuda
