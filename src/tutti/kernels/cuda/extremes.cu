// The larger, the smaller, and limits.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool extremes_registered = register_family(Extremes{});
[[maybe_unused]] static const bool limits_registered = register_family(Limits{});

}  // namespace tutti::kernels::cuda
