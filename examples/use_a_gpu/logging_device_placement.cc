// Use a GPU, "Logging device placement": every op says where it runs.
#include "../gpus.h"

namespace tt = tutti;

int main() {
  simulate_gpus_where_there_is_none();
  tt::set_log_device_placement(true);

  // Create some tensors
  const tt::Tensor a = tt::constant({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
  const tt::Tensor b = tt::constant({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}});
  const tt::Tensor c = tt::matmul(a, b);

  std::cout << c << '\n';
}
