// Bits and truth values.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool is_registered = register_families(Bits{}, Shifts{}, Complements{});

}  // namespace tutti::kernels::cuda
