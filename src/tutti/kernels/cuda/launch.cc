#include "tutti/kernels/cuda/launch.h"

#include <atomic>
#include <optional>

#include "tutti/backends/cuda/driver.h"
#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/hal/door.h"

namespace tutti::kernels::cuda {

void check(cudaError_t result, const char* what, const KernelCall& call) {
  if (result == cudaSuccess) [[likely]]
    return;
  (void)cudaGetLastError();  // reported here, so the next call must not find it
  throw KernelFailed(text(what, ": ", cudaGetErrorString(result)), call.site);
}

// Through the driver: a launch costs the host 0.1 to 0.3 us less than through the runtime.
void LoadedKernel::launch(Queue& queue, const KernelCall& call, const Grid& grid, void** arguments) {
  const std::atomic_ref held(handle_);
  cudaKernel_t handle = held.load(std::memory_order_acquire);
  std::optional<BlockingRegion> loading;
  const bool is_first = handle == nullptr;
  if (is_first) [[unlikely]] {
    check(find_(&handle), "load", call);
    // Code of a library that was opened after the stream was prepared.
    if (!tutti::cuda::is_loaded(handle)) loading.emplace(SyncReason::module_load, call.site);
  }
  constexpr unsigned usual_shared_bytes = 48 * 1024;
  if (grid.shared_bytes > usual_shared_bytes) [[unlikely]] {  // set for each device; the current one's is
    const cudaError_t allowed =
        cudaFuncSetAttribute(handle, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(grid.shared_bytes));
    check(allowed, "shared memory", call);
  }
  const CUresult result = tutti::cuda::driver().cuLaunchKernel(reinterpret_cast<CUfunction>(handle), grid.blocks.x, grid.blocks.y,
                                                               grid.blocks.z, grid.threads.x, grid.threads.y, grid.threads.z,
                                                               grid.shared_bytes, queue.stream(), arguments, nullptr);
  if (result != CUDA_SUCCESS) throw KernelFailed(text("launch: ", tutti::cuda::driver().describe(result)), call.site);
  if (is_first) [[unlikely]]
    held.store(handle, std::memory_order_release);
}

}  // namespace tutti::kernels::cuda
