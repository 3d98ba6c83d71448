// Training steps on the CPU: through gradients and an optimizer, beside the same step written by hand with our ops and beside
// libtorch's eager step with autograd and its SGD. All begin with the same weights; losses and weights after three steps are
// compared before anything is timed. So are the losses of fit, epoch by epoch, with SGD and Adam.
#include <cmath>
#include <cstdlib>
#include <random>
#include <thread>
#include <utility>

#include "torch_step.h"
#include "versus.h"

namespace tt = tutti;

namespace {

void expect_close(const char* what, double ours, double right, double tolerance) {
  if (std::abs(ours - right) <= tolerance * (1 + std::abs(right))) return;
  std::fprintf(stderr, "training_torch: %s is %.9g, libtorch has %.9g\n", what, ours, right);
  std::exit(1);
}
void expect_close(const char* what, const tt::Tensor& ours, const torch::Tensor& right) {
  const std::vector<float> mine = tt::read<float>(ours);
  for (std::size_t i = 0; i < mine.size(); ++i) expect_close(what, mine[i], right.data_ptr<float>()[i], 1e-5);
}

void measure(bench::Report& report, const char* name, const bench::StepSize& size, std::uint64_t key, double target, int samples,
             int calls) {
  const bench::StepData data(size, key);
  const bench::Network network(size.widths);
  bench::StepByHand by_hand(network);
  bench::TorchStep peer(network, data);
  bench::StepThroughGradients through_gradients(network);  // the network's own variables
  for (int i = 0; i < 3; ++i) {
    const float loss = tt::item<float>(through_gradients(data));
    expect_close("the loss", loss, peer().item<float>(), 1e-5);
    expect_close("the loss by hand", tt::item<float>(by_hand(data)), loss, 1e-5);
  }
  const std::array<const tt::Dense*, 3> layers{&network.first, &network.second, &network.third};
  for (std::size_t i = 0; i < 3; ++i) {
    expect_close("a weight", layers[i]->weight.value(), peer.weight(i));
    expect_close("a weight by hand", by_hand.weight(i).value(), peer.weight(i));
  }
  const auto ours = [&] { (void)through_gradients(data); };
  report.versus(std::string(name) + ", through gradients", "libtorch", target, samples, calls, ours, [&] { (void)peer(); });
  report.versus(std::string(name) + ", against by hand", "by hand", 1 / 1.15, samples, calls, ours, [&] { (void)by_hand(data); });
}

void compare_fit(std::uint64_t key) {
  const bench::StepSize size{150, {8, 32, 32, 5}};
  for (const bool is_adam : {false, true}) {
    const bench::StepData data(size, key);
    const bench::Network network(size.widths);
    bench::TorchStep peer(network, data, is_adam);
    const tt::Model model(network);  // the network's own variables
    model.compile({.optimizer = is_adam ? tt::adam(bench::step_rate) : tt::sgd(bench::step_rate), .loss = tt::cross_entropy});
    const tt::History history =
        model.fit(tt::Dataset(std::tuple(data.x, data.labels)).batch(16), {.epochs = 10, .verbose = tt::Verbosity::quiet});
    // Adam divides small gradients by their own size, so what they were rounded to grows from step to step.
    for (const double loss : history.at("loss")) {
      if (is_adam) {
        expect_close("the loss of an epoch of fit with Adam", loss, peer.epoch(16), 2e-2);
      } else {
        expect_close("the loss of an epoch of fit", loss, peer.epoch(16), 1e-4);
      }
    }
  }
  std::printf("the losses of 10 epochs of fit are libtorch's: with SGD to 1e-4, with Adam to 2e-2\n");
}

// An epoch of fit beside as many of libtorch's steps.
void measure_fit(bench::Report& report, std::uint64_t key, int samples) {
  constexpr std::int64_t steps = 20;
  bench::StepSize size = bench::small_step;
  const std::int64_t batch = std::exchange(size.batch, size.batch * steps);
  const bench::StepData data(size, key);
  const bench::Network network(size.widths);
  bench::TorchStep peer(network, data);
  const tt::Model model(network);
  model.compile({.optimizer = tt::sgd(bench::step_rate), .loss = tt::cross_entropy});
  const auto batches = tt::Dataset(std::tuple(data.x, data.labels)).batch(batch);
  report.versus(
      "20 steps 64, 256-512-512-10, by fit", "libtorch", 2.0, samples, 1,
      [&] { (void)model.fit(batches, {.verbose = tt::Verbosity::quiet}); }, [&] { (void)peer.epoch(batch); });
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options(argc, argv, {"--only="});
  torch::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  const std::uint64_t seed = std::random_device{}();
  std::printf("seed %llu, libtorch %s with %d threads, tutti %s with %u\n", static_cast<unsigned long long>(seed), TORCH_VERSION,
              torch::get_num_threads(), tt::version(), tt::get_num_threads());
  bench::Report report("training");
  bench::Report::heading("peer");
  const std::string only = options.value("--only");
  compare_fit(seed);
  if (only != "large") {
    measure(report, "step 64, 256-512-512-10", bench::small_step, seed, 1.8, options.samples(61), options.calls(20));
    measure_fit(report, seed, options.samples(21));
  }
  const bench::StepSize large = options.is_quick() ? bench::StepSize{256, {64, 256, 256, 100}} : bench::large_step;
  if (only != "small") measure(report, "step 4096, 1024-4096-4096-1000", large, seed + 2, 1.0, options.samples(5), 1);
  report.write(options.json());
}
