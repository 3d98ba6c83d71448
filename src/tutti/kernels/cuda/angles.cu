// Trigonometric functions and their inverses.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool circulars_registered = register_family(Circulars{});
[[maybe_unused]] static const bool inverse_circulars_registered = register_family(InverseCirculars{});
[[maybe_unused]] static const bool angles_registered = register_family(Angles{});

}  // namespace tutti::kernels::cuda
