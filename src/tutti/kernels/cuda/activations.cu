// Activations of neural networks, and their gradients.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

#include "tutti/exec/scalar_gradients.h"

[[maybe_unused]] static const bool is_registered = register_families(Rectifiers{}, Activations{}, ActivationGradients{});

}  // namespace tutti::kernels::cuda
