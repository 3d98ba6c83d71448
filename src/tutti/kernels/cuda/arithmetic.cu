// Sums, differences, products and quotients, whole ones too, and powers. Divisions of integers may fail.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool is_registered = register_families(Arithmetic{}, Divisions{});

}  // namespace tutti::kernels::cuda
