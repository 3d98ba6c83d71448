#include "tutti/backends/cpu/device.h"

#include "tutti/backends/strand/strand.h"

namespace tutti {

CpuDevice::CpuDevice(const PhysicalDeviceInfo& info, const OpenOptions& options, std::shared_ptr<StrandDriver> driver)
    : Device(options.id, info, options.full_name), driver_(std::move(driver)), memory_(info.memory_bytes) {}

std::unique_ptr<DeviceStream> CpuDevice::make_stream(const StreamOptions& options) {
  return std::make_unique<Strand>(*this, options, driver_, nullptr);
}

}  // namespace tutti
