// Use a GPU, "Limiting GPU memory growth", second option: a hard limit on one GPU, and what happens beyond it.
#include "../../gpus.h"

namespace tt = tutti;

int main() {
  simulate_gpus_where_there_is_none();
  const auto gpus = tt::list_physical_devices("GPU");

  // Restrict the program to 1 GiB of memory on the first GPU
  tt::set_logical_device_configuration(gpus.at(0), {{.memory_limit = tt::MiB(1024)}});
  const auto logical_gpus = tt::list_logical_devices("GPU");
  std::cout << gpus.size() << " Physical GPUs, " << logical_gpus.size() << " Logical GPUs\n";

  try {
    const tt::Tensor too_large = tt::zeros({2, 1024, 1024, 1024}, tt::DType::u8);
  } catch (const tt::OutOfMemory& e) {
    std::cout << e.what() << '\n';
  }

  try {
    tt::set_logical_device_configuration(gpus.at(0), {{.memory_limit = tt::MiB(2048)}});
  } catch (const std::runtime_error& e) {
    // Virtual devices must be set before GPUs have been initialized
    std::cout << e.what() << '\n';
  }
  // The limit itself may change while the program runs
  tt::set_memory_limit("GPU:0", tt::MiB(2048));
  std::cout << "limit now: " << tt::memory_info("GPU:0").limit / tt::MiB(1) << " MiB\n";
}
