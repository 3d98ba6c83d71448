// Exponentials and logarithms.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool exponentials_registered = register_family(Exponentials{});
[[maybe_unused]] static const bool logarithms_registered = register_family(Logarithms{});
[[maybe_unused]] static const bool distances_registered = register_family(Distances{});

}  // namespace tutti::kernels::cuda
