// A simulated GPU: separate memory the host cannot touch, asynchronous streams, faults on demand.
#pragma once

#include <memory>
#include <optional>

#include "tutti/backends/sim/faults.h"
#include "tutti/backends/sim/memory_space.h"
#include "tutti/backends/strand/driver.h"
#include "tutti/hal/backend.h"

namespace tutti {

class SimDevice final : public Device {
 public:
  SimDevice(const PhysicalDeviceInfo& info, const OpenOptions& options, std::shared_ptr<StrandDriver> driver);

  [[nodiscard]] MemorySpace& memory() noexcept override { return memory_; }
  [[nodiscard]] Parallel& parallel() noexcept override { return driver_->parallel(); }
  std::unique_ptr<DeviceStream> make_stream(const StreamOptions& options) override;
  [[nodiscard]] bool runs_in_caller() const noexcept override { return false; }
  [[nodiscard]] MemorySpace* staging() noexcept override { return staging_ ? &*staging_ : nullptr; }
  [[nodiscard]] bool reaches(const void* host, std::size_t) noexcept override { return !staging_ || staging_->contains(host); }
  void stop() noexcept override;
  void release_stalls() noexcept { faults_.release(); }

 private:
  std::shared_ptr<StrandDriver> driver_;
  SimFaults faults_;
  SimMemorySpace memory_;
  std::optional<SimStagingSpace> staging_;
};

}  // namespace tutti
