// What kind of number a float is.
#include "tutti/kernels/cuda/family.cuh"

namespace tutti::kernels::cuda {

[[maybe_unused]] static const bool tests_registered = register_family(Tests{});

}  // namespace tutti::kernels::cuda
