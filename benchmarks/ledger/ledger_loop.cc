// A loop of small ops, for a tool that counts instructions. usage: ledger_loop DEVICE ITERATIONS READ_EVERY (0: never)
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tutti/tutti.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: ledger_loop DEVICE ITERATIONS READ_EVERY\n", stderr);
    return 2;
  }
  const char* device = argv[1];
  const int iterations = std::atoi(argv[2]);
  const int read_every = std::atoi(argv[3]);
  if (std::string_view(device).starts_with("GPU")) tutti::simulate_gpus(1);
  const tutti::DeviceScope on(device);
  const tutti::Tensor x = tutti::full({16, 16}, 0.5F, tutti::DType::f32);
  double total = 0;
  const auto step = [&](bool is_read) {
    const tutti::Tensor loss = tutti::sum(tutti::relu(tutti::matmul(x, x)));
    if (is_read) total += tutti::item<float>(loss);
  };
  for (int i = 0; i < 20; ++i) step(true);  // what happens once
  for (int i = 1; i <= iterations; ++i) step(read_every != 0 && i % read_every == 0);
  tutti::sync_devices();
  std::printf("%g\n", total);
}
