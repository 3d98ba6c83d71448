// The host's own cores as a device.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tutti/backends/cpu/memory_space.h"
#include "tutti/backends/strand/driver.h"
#include "tutti/hal/backend.h"

namespace tutti {

class CpuDevice final : public Device {
 public:
  CpuDevice(const PhysicalDeviceInfo& info, const OpenOptions& options, std::shared_ptr<StrandDriver> driver);

  [[nodiscard]] MemorySpace& memory() noexcept override { return memory_; }
  [[nodiscard]] Parallel& parallel() noexcept override { return driver_->parallel(); }
  std::unique_ptr<DeviceStream> make_stream(const StreamOptions& options) override;
  [[nodiscard]] bool runs_in_caller() const noexcept override { return true; }
  void stop() noexcept override;

 private:
  std::shared_ptr<StrandDriver> driver_;
  std::mutex mutex_;  // short: guards the list
  std::vector<std::weak_ptr<StrandDriver>> threads_;
  CpuMemorySpace memory_;
};

}  // namespace tutti
