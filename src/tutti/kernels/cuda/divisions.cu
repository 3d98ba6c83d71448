// Divisions that give whole numbers, and powers. Of integers they may fail.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool divisions_registered = register_family(Divisions{});

}  // namespace tutti::kernels::cuda
