#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool is_registered = register_family(Rectifiers{});

}  // namespace tutti::kernels::cuda
