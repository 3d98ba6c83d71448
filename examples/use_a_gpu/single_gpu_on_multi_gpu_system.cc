// Use a GPU, "Using a single GPU on a multi-GPU system": a device that does not exist, strictly and softly.
#include <string>

#include "../gpus.h"

namespace tt = tutti;

int main() {
  simulate_gpus_where_there_is_none();
  tt::set_log_device_placement(true);

  // Specify an invalid GPU device: one more than there are
  const std::string missing = "/device:GPU:" + std::to_string(tt::list_physical_devices("GPU").size());
  try {
    const tt::DeviceScope on(missing);
    const tt::Tensor a = tt::constant({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
    const tt::Tensor b = tt::constant({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}});
    const tt::Tensor c = tt::matmul(a, b);
  } catch (const std::runtime_error& e) {
    std::cout << e.what() << '\n';
  }

  // Let the runtime choose an existing device instead
  tt::set_soft_device_placement(true);
  const tt::DeviceScope on(missing);
  const tt::Tensor a = tt::constant({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
  const tt::Tensor b = tt::constant({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}});
  const tt::Tensor c = tt::matmul(a, b);
  std::cout << c << '\n';
}
