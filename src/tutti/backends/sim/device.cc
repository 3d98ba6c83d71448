#include "tutti/backends/sim/device.h"

#include "tutti/backends/strand/strand.h"
#include "tutti/hal/simulation.h"

namespace tutti {

SimDevice::SimDevice(const PhysicalDeviceInfo& info, const OpenOptions& options, std::shared_ptr<StrandDriver> driver)
    : Device(options.id, info, options.full_name),
      driver_(std::move(driver)),
      faults_(options.full_name),
      memory_(info.memory_bytes) {
  constexpr std::size_t staging_bytes = std::size_t{256} << 20U;
  if (simulation().options.pinned_copies) staging_.emplace(staging_bytes);
}

std::unique_ptr<DeviceStream> SimDevice::make_stream(const StreamOptions& options) {
  return std::make_unique<Strand>(*this, options, driver_, &faults_);
}

void SimDevice::stop() noexcept {
  faults_.release();
  driver_->stop();
}

}  // namespace tutti
