// Use a GPU, "Limiting GPU memory growth", visible devices: only the first GPU is used.
#include "../../gpus.h"

namespace tt = tutti;

int main() {
  simulate_gpus_where_there_is_none();
  const auto gpus = tt::list_physical_devices("GPU");

  // Restrict the program to the first GPU
  tt::set_visible_devices(gpus.at(0), "GPU");
  const auto logical_gpus = tt::list_logical_devices("GPU");
  std::cout << gpus.size() << " Physical GPUs, " << logical_gpus.size() << " Logical GPU\n";

  try {
    tt::set_visible_devices(gpus, "GPU");
  } catch (const std::runtime_error& e) {
    // Visible devices must be set before GPUs have been initialized
    std::cout << e.what() << '\n';
  }
}
