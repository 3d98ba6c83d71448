// Use a GPU, "Limiting GPU memory growth", first option: memory is taken as it is needed. Here that is the default.
#include "../../gpus.h"

namespace tt = tutti;

int main() {
  simulate_gpus_where_there_is_none();
  const auto gpus = tt::list_physical_devices("GPU");

  // May differ from GPU to GPU
  for (const auto& gpu : gpus) tt::set_memory_growth(gpu, true);
  const auto logical_gpus = tt::list_logical_devices("GPU");
  std::cout << gpus.size() << " Physical GPUs, " << logical_gpus.size() << " Logical GPUs\n";

  const tt::Tensor x = tt::zeros({1024});
  const tt::MemoryInfo info = tt::memory_info("GPU:0");
  std::cout << "in use: " << info.in_use
            << " bytes; taken from the device: " << (info.reserved < info.limit / 2 ? "little" : "nearly all") << '\n';

  try {
    tt::set_memory_growth(gpus.at(0), false);
  } catch (const std::runtime_error& e) {
    // Memory growth must be set before GPUs have been initialized
    std::cout << e.what() << '\n';
  }
}
