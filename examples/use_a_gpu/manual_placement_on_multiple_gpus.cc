// Use a GPU, "Manual placement": the same computation on every GPU, the results added on the CPU.
#include <vector>

#include "../gpus.h"

namespace tt = tutti;

int main() {
  simulate_gpus_where_there_is_none();
  tt::set_log_device_placement(true);

  // Replicate your computation on multiple GPUs
  std::vector<tt::Tensor> c;
  for (const auto& gpu : tt::list_logical_devices("GPU")) {
    const tt::DeviceScope on(gpu);
    const tt::Tensor a = tt::constant({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
    const tt::Tensor b = tt::constant({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}});
    c.push_back(tt::matmul(a, b));  // the GPUs work at the same time
  }

  const tt::DeviceScope on_cpu("/CPU:0");
  const tt::Tensor matmul_sum = tt::add_n(c);
  std::cout << matmul_sum << '\n';
}
