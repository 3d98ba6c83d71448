// A training loop as people write it, for the reports: it reads on the host what could stay on the device.
// usage: training [STEPS] [EXIT_STATUS]
#include <tutti/tutti.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <thread>

namespace tt = tutti;

namespace {

void validate(int steps) try {
  const tt::DeviceScope on("GPU:0");
  const tt::StreamScope beside(tt::Stream("GPU:0"));
  for (int i = 0; i < steps; ++i) {
    const tt::NamedScope scope("validate");
    tt::sum(tt::ones({64})).sync();
  }
} catch (const tt::Error& error) {
  std::cerr << error.what() << std::endl;
}

void train(int steps) {
  const tt::DeviceScope on("GPU:0");
  const std::jthread beside(validate, steps / 10 + 1);
  tt::Tensor weights = tt::full({64, 64}, 1.f / 64, tt::DType::f32);
  float total = 0;
  float largest = 0;
  for (int step = 0; step < steps; ++step) {
    const tt::NamedScope scope("step");
    weights = tt::matmul(weights, weights);
    const tt::Tensor loss = tt::sum(weights);
    const tt::Tensor norm = tt::max(weights);
    total += tt::item<float>(loss);
    largest = std::max(largest, tt::item<float>(norm));
    if (tt::item<bool>(loss > 1e6f)) break;
  }
  tt::sync_devices();
  std::cout << "total " << total << ", largest " << largest << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (tt::list_physical_devices("GPU").empty()) tt::simulate_gpus(1);
  try {
    train(argc > 1 ? std::atoi(argv[1]) : 10);
  } catch (const tt::Error& error) {
    std::cerr << error.what() << '\n';
    return 9;
  }
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
