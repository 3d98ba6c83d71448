// Activations of neural networks.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool is_registered = register_families(Rectifiers{}, Activations{});

}  // namespace tutti::kernels::cuda
