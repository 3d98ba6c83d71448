// Two matrices, a product and a sum on whatever device is there.
#include <tutti/tutti.h>

#include <iostream>

namespace tt = tutti;

int main() {
  const tt::Tensor a = tt::constant({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
  const tt::Tensor b = tt::constant({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}});
  const tt::Tensor c = tt::matmul(a, b) * 2 + 1;  // on a GPU this returns at once
  std::cout << c << '\n';                         // the host waits here, for this value

  std::cout << "sum = " << tt::item<float>(tt::sum(c)) << '\n';
  std::cout << "syncs so far: " << tt::sync_counts().demand << '\n';
}
