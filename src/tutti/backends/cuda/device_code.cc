#include "tutti/backends/cuda/device_code.h"

#include <atomic>
#include <exception>
#include <vector>

#include "tutti/backends/cuda/driver.h"

namespace tutti::cuda {

namespace {
constinit std::atomic<const DeviceCode*> newest_code{nullptr};
}

DeviceCode::DeviceCode(FindOne find) noexcept : find_(find), next_(newest_code.load(std::memory_order_relaxed)) {
  while (!newest_code.compare_exchange_weak(next_, this, std::memory_order_acq_rel)) {}
}

const DeviceCode* DeviceCode::newest() noexcept { return newest_code.load(std::memory_order_acquire); }

std::size_t DeviceCode::load() const noexcept {
  const Driver& api = driver();
  cudaKernel_t one = nullptr;
  CUlibrary file = nullptr;
  unsigned count = 0;
  if (find_(&one) != cudaSuccess || api.cuKernelGetLibrary(&file, reinterpret_cast<CUkernel>(one)) != CUDA_SUCCESS ||
      api.cuLibraryGetKernelCount(&count, file) != CUDA_SUCCESS)
    return 0;
  std::size_t loaded = 0;
  try {
    std::vector<CUkernel> kernels(count);
    if (api.cuLibraryEnumerateKernels(kernels.data(), count, file) != CUDA_SUCCESS) return 0;
    for (CUkernel kernel : kernels) {
      CUfunction function = nullptr;
      if (api.cuKernelGetFunction(&function, kernel) == CUDA_SUCCESS && api.cuFuncLoad(function) == CUDA_SUCCESS) ++loaded;
    }
  } catch (const std::exception&) {
    // No memory for a list: launches load what they need.
  }
  return loaded;
}

bool is_loaded(cudaKernel_t kernel) noexcept {
  CUfunction function = nullptr;
  CUfunctionLoadingState state{};
  return driver().cuKernelGetFunction(&function, reinterpret_cast<CUkernel>(kernel)) == CUDA_SUCCESS &&
         driver().cuFuncIsLoaded(&state, function) == CUDA_SUCCESS && state == CU_FUNCTION_LOADING_STATE_LOADED;
}

}  // namespace tutti::cuda
