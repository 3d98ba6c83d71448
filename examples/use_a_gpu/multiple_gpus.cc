// Use a GPU, "Using multiple GPUs": one GPU as two virtual ones.
#include "../gpus.h"

namespace tt = tutti;

int main() {
  simulate_gpus_where_there_is_none();
  const auto gpus = tt::list_physical_devices("GPU");

  // Create 2 virtual GPUs with 1 GiB memory each, from the first GPU alone
  tt::set_visible_devices(gpus.at(0), "GPU");
  tt::set_logical_device_configuration(gpus.at(0), {{.memory_limit = tt::MiB(1024)}, {.memory_limit = tt::MiB(1024)}});
  const auto logical_gpus = tt::list_logical_devices("GPU");
  std::cout << tt::get_visible_devices("GPU").size() << " Physical GPU, " << logical_gpus.size() << " Logical GPUs\n";
  for (const auto& gpu : logical_gpus) std::cout << gpu.name << ": " << gpu.memory_limit / tt::MiB(1) << " MiB\n";

  try {
    tt::set_logical_device_configuration(gpus.at(0), {{.memory_limit = tt::MiB(2048)}});
  } catch (const std::runtime_error& e) {
    // Virtual devices must be set before GPUs have been initialized
    std::cout << e.what() << '\n';
  }
}
