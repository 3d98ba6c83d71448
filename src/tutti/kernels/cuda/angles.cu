// Trigonometric functions and their inverses.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool is_registered = register_families(Circulars{}, InverseCirculars{}, Angles{});

}  // namespace tutti::kernels::cuda
