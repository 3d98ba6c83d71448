// Activations of neural networks.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool rectifiers_registered = register_family(Rectifiers{});
[[maybe_unused]] static const bool activations_registered = register_family(Activations{});

}  // namespace tutti::kernels::cuda
