#include "tutti/kernels/cuda/launch.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti::kernels::cuda {

void check(cudaError_t result, const char* what, const KernelCall& call) {
  if (result == cudaSuccess) [[likely]]
    return;
  (void)cudaGetLastError();  // reported here, so the next call must not find it
  throw KernelFailed(text(what, ": ", cudaGetErrorString(result)), call.site);
}

}  // namespace tutti::kernels::cuda
