// Comparisons, limits, and what kind of number a float is.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool is_registered = register_families(Equalities{}, Orders{}, Extremes{}, Limits{}, Tests{});

}  // namespace tutti::kernels::cuda
