// Hyperbolic functions and their inverses.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool hyperbolics_registered = register_family(Hyperbolics{});
[[maybe_unused]] static const bool inverse_hyperbolics_registered = register_family(InverseHyperbolics{});

}  // namespace tutti::kernels::cuda
