// Use a GPU, "Manual device placement": a scope chooses the device; inputs that are elsewhere are copied.
#include "../gpus.h"

namespace tt = tutti;

int main() {
  simulate_gpus_where_there_is_none();
  tt::set_log_device_placement(true);

  // Place tensors on the CPU
  tt::Tensor a;
  tt::Tensor b;
  {
    const tt::DeviceScope on_cpu("/CPU:0");
    a = tt::constant({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
    b = tt::constant({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}});
  }

  // Run on the GPU
  const tt::Tensor c = tt::matmul(a, b);
  std::cout << c << '\n';
}
