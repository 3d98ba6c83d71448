// Bits and truth values.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool bits_registered = register_family(Bits{});
[[maybe_unused]] static const bool shifts_registered = register_family(Shifts{});
[[maybe_unused]] static const bool complements_registered = register_family(Complements{});

}  // namespace tutti::kernels::cuda
