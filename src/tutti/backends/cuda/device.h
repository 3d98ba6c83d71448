// One logical device on a GPU: its own range of memory, limits and streams; the context is shared by all on that GPU.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tutti/backends/cuda/context.h"
#include "tutti/backends/cuda/memory_space.h"
#include "tutti/backends/cuda/pinned_space.h"
#include "tutti/hal/backend.h"

namespace tutti {

class CudaDevice final : public Device {
 public:
  CudaDevice(const PhysicalDeviceInfo& info, const OpenOptions& options);

  [[nodiscard]] MemorySpace& memory() noexcept override { return memory_; }
  [[nodiscard]] Parallel& parallel() noexcept override { return serial_; }
  std::unique_ptr<DeviceStream> make_stream(const StreamOptions& options) override;
  std::unique_ptr<DeviceStream> adopt_stream(void* native, const StreamOptions& options, Site site) override;
  [[nodiscard]] bool runs_in_caller() const noexcept override { return false; }
  [[nodiscard]] MemorySpace* staging() noexcept override { return &pinned_; }
  [[nodiscard]] bool reaches(const void* host, std::size_t bytes) noexcept override;
  [[nodiscard]] std::uint64_t context_bytes() const noexcept override { return context_.own_bytes(); }
  // Waits a while for what runs on the GPU; what does not end by then is left to the driver.
  void stop() noexcept override;

 private:
  std::unique_ptr<DeviceStream> add_stream(const StreamOptions& options, cudaStream_t adopted);

  cuda::Context& context_;
  CudaMemorySpace memory_;
  PinnedSpace pinned_;
  Serial serial_;
  std::mutex mutex_;
  std::vector<DeviceStream*> streams_;
};

}  // namespace tutti
