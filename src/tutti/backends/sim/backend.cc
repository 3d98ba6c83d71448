// The sim backend: as many GPUs as the simulation asks for, none by default.
#include "tutti/backends/sim/device.h"
#include "tutti/hal/fault.h"
#include "tutti/hal/simulation.h"

namespace tutti {

namespace {

class SimBackend final : public Backend {
 public:
  [[nodiscard]] BackendKind kind() const noexcept override { return BackendKind::sim; }

  [[nodiscard]] std::vector<PhysicalDeviceInfo> enumerate() override {
    const Simulation wanted = simulation();
    std::vector<PhysicalDeviceInfo> out;
    for (unsigned i = 0; i < wanted.gpus; ++i) {
      PhysicalDeviceInfo info;
      info.backend = BackendKind::sim;
      info.type = "GPU";
      info.index = i;
      info.ordinal = i;
      info.name = "Simulated GPU";
      info.memory_bytes = wanted.options.memory_bytes;
      out.push_back(std::move(info));
    }
    return out;
  }

  std::unique_ptr<Device> open(const PhysicalDeviceInfo& info, const OpenOptions& options) override {
    auto device = std::make_unique<SimDevice>(info, options, make_driver(simulation().options.workers, "tutti sim gpu", false));
    opened().push_back(device.get());
    detail::on_faults_cleared([]() noexcept {
      for (SimDevice* each : opened()) each->release_stalls();
    });
    return device;
  }

 private:
  // Devices live for ever once opened; opening is guarded by the runtime.
  static std::vector<SimDevice*>& opened() {
    static auto& instance = *new std::vector<SimDevice*>;
    return instance;
  }
};

const bool registered = register_backend(*new SimBackend);

}  // namespace

}  // namespace tutti
