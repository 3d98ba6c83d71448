// Exponentials, logarithms and hyperbolic functions.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool is_registered =
    register_families(Exponentials{}, Logarithms{}, Distances{}, Hyperbolics{}, InverseHyperbolics{});

}  // namespace tutti::kernels::cuda
