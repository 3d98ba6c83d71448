// A program of a user's: knows tutti only through find_package and its headers.
#include <tutti/tutti.h>

#include <iostream>

int main() {
  const tutti::Tensor a = tutti::constant({{1.f, 2.f}, {3.f, 4.f}});
  const tutti::Tensor b = tutti::matmul(a, a);
  std::cout << b << '\n';
  try {
    tutti::parse_device_name("/gpu:O");
  } catch (const tutti::InvalidDeviceName& error) {
    std::cout << "refused, as it should be\n";
  }
}
