// How a kernel is set going: errors become KernelFailed, and the first launch of each, which loads its code, is accounted for.
#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "tutti/backends/cuda/queue.h"
#include "tutti/exec/kernel.h"
#include "tutti/hal/door.h"

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

// launch<add<float>>(queue, call, {blocks, threads}, ...)
template <auto kernel, class... Params>
void launch_with(Queue& queue, const KernelCall& call, const Grid& grid, void (*)(Params...), Params... arguments) {
  static std::atomic<bool> is_loaded{false};
  std::array<void*, sizeof...(Params)> addresses{const_cast<void*>(static_cast<const void*>(&arguments))...};
  std::optional<BlockingRegion> loading;
  if (!is_loaded.load(std::memory_order_relaxed)) [[unlikely]]
    loading.emplace(SyncReason::module_load, call.site);
  check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid.blocks, grid.threads, addresses.data(), grid.shared_bytes,
                         queue.stream()),
        "launch", call);
  is_loaded.store(true, std::memory_order_relaxed);
}

template <auto kernel, class... Args>
void launch(Queue& queue, const KernelCall& call, const Grid& grid, const Args&... arguments) {
  [&]<class... Params>(void (*signature)(Params...)) {
    launch_with<kernel, Params...>(queue, call, grid, signature, static_cast<Params>(arguments)...);
  }(kernel);
}

}  // namespace tutti::kernels::cuda
