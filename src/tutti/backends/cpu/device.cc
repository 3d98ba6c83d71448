#include "tutti/backends/cpu/device.h"

#include <mutex>

#include "tutti/backends/strand/strand.h"

namespace tutti {

CpuDevice::CpuDevice(const PhysicalDeviceInfo& info, const OpenOptions& options, std::shared_ptr<StrandDriver> driver)
    : Device(options.id, info, options.full_name), driver_(std::move(driver)), memory_(info.memory_bytes) {}

std::unique_ptr<DeviceStream> CpuDevice::make_stream(const StreamOptions& options) {
  if (!options.may_block) return std::make_unique<Strand>(*this, options, driver_, nullptr);
  const std::shared_ptr<StrandDriver> thread = make_thread("tutti blocking stream");
  auto strand = std::make_unique<Strand>(*this, options, thread, nullptr);
  const std::lock_guard lock(mutex_);
  std::erase_if(threads_, [](const std::weak_ptr<StrandDriver>& gone) { return gone.expired(); });
  threads_.push_back(thread);
  return strand;
}

void CpuDevice::stop() noexcept {
  std::vector<std::weak_ptr<StrandDriver>> threads;
  {
    const std::lock_guard lock(mutex_);
    threads.swap(threads_);
  }
  // What they run may come after work of the others, so those go on meanwhile.
  for (const std::weak_ptr<StrandDriver>& each : threads) {
    if (const std::shared_ptr<StrandDriver> thread = each.lock()) thread->stop();
  }
  driver_->stop();
}

}  // namespace tutti
