// The cuda backend: the GPUs the driver shows. None where there is no driver, and none beside simulated ones.
#include <array>

#include "tutti/backends/cuda/device.h"
#include "tutti/backends/cuda/driver.h"
#include "tutti/backends/cuda/nvml.h"
#include "tutti/base/text.h"
#include "tutti/hal/simulation.h"

namespace tutti {

namespace {

constexpr int least_major = 8;  // compute capability; there is no code for older GPUs in this build

class CudaBackend final : public Backend {
 public:
  [[nodiscard]] BackendKind kind() const noexcept override { return BackendKind::cuda; }

  [[nodiscard]] std::vector<PhysicalDeviceInfo> enumerate() override {
    // A program that asks for simulated GPUs gets those and no others, on every machine.
    if (simulation().gpus > 0) return {};
    const cuda::Driver* api = cuda::find_driver();
    int count = 0;
    if (api == nullptr || api->cuDeviceGetCount(&count) != CUDA_SUCCESS) return {};
    int version = 0;
    api->cuDriverGetVersion(&version);
    std::vector<PhysicalDeviceInfo> out;
    for (int i = 0; i < count; ++i) {
      CUdevice device = 0;
      if (api->cuDeviceGet(&device, i) != CUDA_SUCCESS) continue;
      PhysicalDeviceInfo info;
      info.backend = BackendKind::cuda;
      info.type = "GPU";
      info.index = static_cast<unsigned>(out.size());
      info.ordinal = static_cast<unsigned>(i);
      std::array<char, 256> name{};
      api->cuDeviceGetName(name.data(), static_cast<int>(name.size()), device);
      info.name = name.data();
      std::size_t bytes = 0;
      api->cuDeviceTotalMem(&bytes, device);
      info.memory_bytes = bytes;
      api->cuDeviceGetAttribute(&info.compute_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
      api->cuDeviceGetAttribute(&info.compute_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
      const std::string driver = cuda::driver_version();
      info.driver = text(driver, driver.empty() ? "" : ", ", "CUDA ", version / 1000, ".", version % 1000 / 10);
      if (info.compute_major < least_major) continue;
      out.push_back(std::move(info));
    }
    return out;
  }

  [[nodiscard]] std::string why_none() const override {
    if (simulation().gpus > 0) return {};
    const cuda::Driver* api = cuda::find_driver();
    if (api == nullptr) return cuda::why_absent();
    int count = 0;
    if (const CUresult result = api->cuDeviceGetCount(&count); result != CUDA_SUCCESS || count == 0)
      return text("the NVIDIA driver shows no GPU", result == CUDA_SUCCESS ? "" : text(" (", api->describe(result), ")"));
    for (int i = 0; i < count; ++i) {
      CUdevice device = 0;
      int major = 0;
      if (api->cuDeviceGet(&device, i) == CUDA_SUCCESS &&
          api->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) == CUDA_SUCCESS &&
          major >= least_major)
        return {};
    }
    return text("the NVIDIA GPUs here have a compute capability below ", least_major, ".0, for which this build has no code");
  }

  std::unique_ptr<Device> open(const PhysicalDeviceInfo& info, const OpenOptions& options) override {
    return std::make_unique<CudaDevice>(info, options);
  }
};

const bool registered = register_backend(*new CudaBackend);

}  // namespace

}  // namespace tutti
