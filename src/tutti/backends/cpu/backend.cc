// The cpu backend: one physical device, the machine's processor, whose logical devices share one pool of workers.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "tutti/backends/cpu/device.h"

namespace tutti {

namespace {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
  }
  return "CPU";
}

class CpuBackend final : public Backend {
 public:
  [[nodiscard]] BackendKind kind() const noexcept override { return BackendKind::cpu; }

  [[nodiscard]] std::vector<PhysicalDeviceInfo> enumerate() override {
    PhysicalDeviceInfo info;
    info.backend = BackendKind::cpu;
    info.type = "CPU";
    info.name = processor_name();
    info.memory_bytes =
        static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return {info};
  }

  std::unique_ptr<Device> open(const PhysicalDeviceInfo& info, const OpenOptions& options) override {
    if (!driver_) driver_ = make_driver(std::max(1U, std::thread::hardware_concurrency()), "tutti cpu", true);
    return std::make_unique<CpuDevice>(info, options, driver_);
  }

 private:
  std::shared_ptr<StrandDriver> driver_;
};

const bool registered = register_backend(*new CpuBackend);

}  // namespace

}  // namespace tutti
