// Training steps, eager: through gradients and an optimizer, and written by hand with ops. PyTorch's are in torch_gpu.py.
#include <cmath>

#include "../training_step.h"
#include "timing.h"

namespace tt = tutti;

namespace gpu {

namespace {

constexpr int steps_in_a_row = 10;

// Microseconds a step: until the host is through, and until the device is.
struct StepTimes {
  std::vector<double> enqueue;
  std::vector<double> whole;

  template <class Step>
  void sample(Step& step, const bench::StepData& data) {
    tt::synchronize();
    const auto start = Clock::now();
    for (int i = 0; i < steps_in_a_row; ++i) (void)step(data);
    enqueue.push_back(microseconds_since(start) / steps_in_a_row);
    tt::synchronize();
    whole.push_back(microseconds_since(start) / steps_in_a_row);
  }
  void print_as(const char* side, const std::string& name) const {
    print(side, name + "_enqueue", median(enqueue), "us");
    print(side, name, median(whole), "us");
  }
};

template <class Step>
double peak_mib(Step& step, const bench::StepData& data) {
  tt::synchronize();
  tt::reset_peak("GPU:0");
  for (int i = 0; i < 3; ++i) (void)step(data);
  tt::synchronize();
  return static_cast<double>(tt::memory_info("GPU:0").peak) / (1 << 20);
}

void measure(const std::string& name, const bench::StepSize& size, bool tf32, unsigned long long seed, int samples) {
  tt::set_allow_tf32(tf32);
  const bench::StepData data(size, seed);
  // Alone on the device, so that what it needs can be seen.
  {
    const bench::Network network(size.widths);
    bench::StepThroughGradients step(network);
    (void)step(data);
    print("tutti", name + "_peak", peak_mib(step, data), "MiB");
  }
  {
    bench::StepByHand step{bench::Network(size.widths)};
    (void)step(data);
    print("hand", name + "_peak", peak_mib(step, data), "MiB");
  }
  const bench::Network network(size.widths);
  bench::StepByHand by_hand(network);
  bench::StepThroughGradients through_gradients(network);
  StepTimes hand;
  StepTimes ours;
  for (int i = 0; i < 5; ++i) {
    const float loss = tt::item<float>(through_gradients(data));
    require(std::abs(loss - tt::item<float>(by_hand(data))) <= 2e-3 * loss, "the losses of the two steps differ");
    require(loss > 0 && loss < 20, "the loss is " + std::to_string(loss));
  }
  for (int i = 0; i < samples; ++i) {
    hand.sample(by_hand, data);
    ours.sample(through_gradients, data);
  }
  hand.print_as("hand", name);
  ours.print_as("tutti", name);
  tt::set_allow_tf32(false);
}

}  // namespace

bool measure_steps(unsigned long long seed) {
  bool all = attempt("small step", [&] { measure("step_small", bench::small_step, false, seed, 61); });
  all = attempt("small step in tf32", [&] { measure("step_small_tf32", bench::small_step, true, seed, 31); }) && all;
  return attempt("large step", [&] { measure("step_large", bench::large_step, true, seed + 2, 31); }) && all;
}

}  // namespace gpu
