#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

struct Choose {
  template <class U>
  __device__ __forceinline__ U operator()(std::uint8_t condition, U a, U b) const {
    return condition != 0 ? a : b;
  }
};

}  // namespace

// Elements are moved, not looked at: their size is all that matters.
static void select(const KernelCall& call, KernelContext& context) {
  visit_size(size_of(call.out().dtype), [&]<class U>(U) { run_elementwise<Choose, U, std::uint8_t, U, U>(call, context); });
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("SelectV2", select);

}  // namespace tutti::kernels::cuda
