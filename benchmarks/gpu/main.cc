// Tutti beside bare CUDA on GPU:0, both in this process. usage: gpu_benchmark   (exit 77: there is no CUDA GPU)
#include <cstdio>
#include <random>

#include "timing.h"
#include "tutti/tutti.h"

int main() {
  const auto gpus = tutti::list_physical_devices("GPU");
  if (gpus.empty() || tutti::get_device_details(gpus.front()).backend != "cuda") {
    std::fprintf(stderr, "gpu_benchmark: no CUDA GPU here; nothing was measured\n");
    return 77;
  }
  const tutti::DeviceDetails details = tutti::get_device_details(gpus.front());
  const unsigned long long seed = std::random_device{}();
  std::printf("# gpu %s\n# driver %s\n# tutti %s\n# seed %llu\n", details.device_name.c_str(), details.driver.c_str(),
              tutti::version(), seed);
  const bool host_side = gpu::measure_host_side(seed);
  const bool throughput = gpu::measure_throughput(seed);
  return host_side && throughput ? 0 : 1;
}
