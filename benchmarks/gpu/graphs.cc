// Captured functions: training steps as a program captures them and as fit() does, a chain of element-wise ops, a row of small
// ones. PyTorch's CUDA graphs and torch.compile are in torch_gpu.py.
#include <cmath>
#include <cstdlib>

#include "../training_step.h"
#include "timing.h"

namespace tt = tutti;

namespace gpu {

namespace {

// Microseconds of a call: until the host is through, and until the device is.
template <class Call>
void measure_calls(const std::string& name, int samples, int calls, Call&& call) {
  std::vector<double> enqueue;
  std::vector<double> whole;
  for (int i = 0; i < samples; ++i) {
    tt::synchronize();
    const auto start = Clock::now();
    for (int k = 0; k < calls; ++k) call();
    enqueue.push_back(microseconds_since(start) / calls);
    tt::synchronize();
    whole.push_back(microseconds_since(start) / calls);
  }
  print("tutti", name + "_enqueue", median(enqueue), "us");
  print("tutti", name, median(whole), "us");
}

void explain_on_request(const std::string& text) {
  if (std::getenv("EXPLAIN") != nullptr) std::fprintf(stderr, "%s\n", text.c_str());
}

void measure_step(const std::string& name, const bench::StepSize& size, bool tf32, unsigned long long seed, int samples) {
  tt::set_allow_tf32(tf32);
  const bench::StepData data(size, seed);
  const bench::Network network(size.widths);
  bench::StepThroughGradients step(network);
  bench::StepByHand by_hand(network);
  const auto captured = tt::capture([&](const tt::Tensor& x, const tt::Tensor& labels) { return step({x, labels}); });
  tt::synchronize();
  const auto start = Clock::now();
  tt::Tensor loss = captured(data.x, data.labels);
  tt::synchronize();
  print("tutti", name + "_first_call", microseconds_since(start), "us");
  for (int i = 0; i < 5; ++i) {
    const float expected = tt::item<float>(by_hand(data));
    require(std::abs(tt::item<float>(loss) - expected) <= 2e-3 * expected,
            "the losses of the captured step and of that by hand differ");
    loss = captured(data.x, data.labels);
  }
  explain_on_request(tt::explain(captured));
  measure_calls(name, samples, 50, [&] { (void)captured(data.x, data.labels); });
  tt::set_allow_tf32(false);
}

// What fit() takes for a step, batches and metrics included: of many epochs less few, so that the beginning does not count.
void measure_fit(unsigned long long seed) {
  constexpr int steps = 200;
  const bench::StepSize size{bench::small_step.batch * steps, bench::small_step.widths};
  const bench::StepData data(size, seed);
  const tt::Model model{bench::Network(size.widths)};
  model.compile({.optimizer = tt::sgd(bench::step_rate), .loss = tt::cross_entropy});
  const auto batches = tt::Dataset(std::tuple(data.x, data.labels)).batch(bench::small_step.batch);
  const auto seconds_of = [&](int epochs) {
    tt::synchronize();
    const auto start = Clock::now();
    (void)model.fit(batches, {.epochs = epochs, .verbose = tt::Verbosity::quiet});
    tt::synchronize();
    return microseconds_since(start);
  };
  (void)seconds_of(1);
  std::vector<double> each;
  for (int i = 0; i < 7; ++i) {
    const double few = seconds_of(1);
    each.push_back((seconds_of(6) - few) / (5 * steps));
  }
  print("tutti", "fit_small", median(each), "us");
}

void measure_chain(unsigned long long seed) {
  const tt::Shape shape{16 << 20};
  std::vector<tt::Tensor> operands;
  for (unsigned long long i = 0; i < 5; ++i) operands.push_back(tt::uniform(shape, {.key = seed + i}));
  const auto chain = [](const std::vector<tt::Tensor>& in) { return tt::gelu(in[0] * in[1] + in[2]) * in[3] + in[4]; };
  const auto captured = tt::capture(chain);
  const tt::Tensor expected = captured(operands);
  require(tt::item<bool>(tt::allclose(captured(operands), expected)), "the chain and its replay differ");
  measure_calls("chain_eager", 15, 20, [&] { (void)chain(operands); });
  measure_calls("chain", 31, 20, [&] { (void)captured(operands); });
}

// Each needs the one before it.
void measure_row_of_small_ops() {
  constexpr int ops = 100;
  const tt::Tensor x = tt::ones({32, 32});
  const auto captured = tt::capture([](tt::Tensor y) {
    const tt::Tensor first = y;
    for (int i = 0; i < ops; ++i) y = y + first;
    return y;
  });
  (void)captured(x);
  require(tt::item<float>(tt::max(captured(x))) == ops + 1, "the replay of small additions is wrong");
  measure_calls("small_ops", 31, 10, [&] { (void)captured(x); });
}

}  // namespace

bool measure_graphs(unsigned long long seed) {
  bool all = attempt("captured small step", [&] { measure_step("captured_small", bench::small_step, false, seed, 61); });
  all = attempt("captured small step in tf32", [&] { measure_step("captured_small_tf32", bench::small_step, true, seed, 31); }) &&
        all;
  all = attempt("captured large step", [&] { measure_step("captured_large", bench::large_step, true, seed, 9); }) && all;
  all = attempt("fit", [&] { measure_fit(seed); }) && all;
  return attempt("chain", [&] { measure_chain(seed); }) && all;
}

bool measure_small_ops(unsigned long long) { return attempt("small ops", measure_row_of_small_ops); }

}  // namespace gpu
