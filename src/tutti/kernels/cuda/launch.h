// How a kernel is set going: errors become KernelFailed, and a launch that has to load its code is accounted for.
#pragma once

#include <array>

#include "tutti/backends/cuda/device_code.h"
#include "tutti/backends/cuda/queue.h"
#include "tutti/exec/kernel.h"

namespace tutti::kernels::cuda {

using tutti::cuda::Queue;

struct Grid {
  dim3 blocks{1};
  dim3 threads{1};
  unsigned shared_bytes = 0;
};

inline Queue& queue_of(const KernelContext& context) noexcept { return tutti::cuda::queue_of(*context.stream); }

// Throws KernelFailed: "<what>: invalid configuration argument".
void check(cudaError_t result, const char* what, const KernelCall& call);

// A kernel as the driver knows it, looked up when it is first launched: by the copy of the runtime that its own library holds,
// for no other knows it.
class LoadedKernel {
 public:
  using Find = cudaError_t (*)(cudaKernel_t* found);
  explicit constexpr LoadedKernel(Find find) noexcept : find_(find) {}

  void launch(Queue& queue, const KernelCall& call, const Grid& grid, void** arguments);

 private:
  Find find_;
  cudaKernel_t handle_ = nullptr;  // read and written atomically
};

template <auto kernel, class... Params>
void launch_with(Queue& queue, const KernelCall& call, const Grid& grid, void (*)(Params...), Params... arguments) {
  std::array<void*, sizeof...(Params)> addresses{const_cast<void*>(static_cast<const void*>(&arguments))...};
  static LoadedKernel entry([](cudaKernel_t* found) { return cudaGetKernel(found, reinterpret_cast<const void*>(kernel)); });
  entry.launch(queue, call, grid, addresses.data());
}

// launch<add<float>>(queue, call, {blocks, threads}, ...)
template <auto kernel, class... Args>
void launch(Queue& queue, const KernelCall& call, const Grid& grid, const Args&... arguments) {
  [&]<class... Params>(void (*signature)(Params...)) {
    launch_with<kernel, Params...>(queue, call, grid, signature, static_cast<Params>(arguments)...);
  }(kernel);
}

#ifdef __CUDACC__
// One for each file of device code, hence no name outside it: any kernel will do to know the file's code by.
namespace {
__global__ void any_kernel() {}

[[maybe_unused]] const tutti::cuda::DeviceCode code_of_this_file([](cudaKernel_t* found) {
  const cudaError_t result = cudaGetKernel(found, reinterpret_cast<const void*>(any_kernel));
  if (result != cudaSuccess) (void)cudaGetLastError();  // no code for this GPU: whoever launches some is told
  return result;
});
}  // namespace
#endif

}  // namespace tutti::kernels::cuda
