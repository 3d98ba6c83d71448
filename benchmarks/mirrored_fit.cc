// An epoch of fit mirrored over four simulated GPUs beside the same epoch on one of them: what sharing out batches and adding up
// gradients costs on this host, whose cores are all there is to either. Figures without a target.
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

#include "tutti/tutti.h"
#include "versus.h"

namespace tt = tutti;

namespace {

struct Network {
  tt::Dense first{256, 512};
  tt::Dense second{512, 512};
  tt::Dense third{512, 10};
  tt::Tensor operator()(const tt::Tensor& x) const { return third(tt::relu(second(tt::relu(first(x))))); }
};

tt::Model<Network> mirrored_over(const std::vector<std::string>& gpus) {
  tt::set_seed(1);
  const tt::MirroredStrategy strategy(gpus);
  tt::Model model(strategy, [] { return Network(); });
  model.compile({.optimizer = tt::sgd(0.01), .loss = tt::cross_entropy});
  return model;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options(argc, argv);
  constexpr std::int64_t batch = 256;
  constexpr std::int64_t steps = 20;
  tt::simulate_gpus(4);
  const auto data = [] {
    const tt::DeviceScope here("CPU:0");
    return tt::Dataset(std::tuple(tt::normal({batch * steps, 256}, {.key = 1}), tt::randint({batch * steps}, 0, 10, {.key = 2})))
        .batch(batch);
  }();
  const tt::Model one = mirrored_over({"GPU:0"});
  const tt::Model four = mirrored_over({"GPU:0", "GPU:1", "GPU:2", "GPU:3"});
  const auto epoch_of = [&](const tt::Model<Network>& model) {
    return [&] { (void)model.fit(data, {.verbose = tt::Verbosity::quiet}); };
  };
  std::vector<double> alone;
  std::vector<double> shared;
  bench::sample(1, epoch_of(one));  // captures
  bench::sample(1, epoch_of(four));
  for (int i = 0; i < options.samples(21); ++i) {
    alone.push_back(bench::sample(1, epoch_of(one)) / steps);
    shared.push_back(bench::sample(1, epoch_of(four)) / steps);
  }
  bench::Report report("mirrored_fit");
  std::printf("nanoseconds a step, medians; batch %d, 256-512-512-10, SGD\n", static_cast<int>(batch));
  const auto tell = [&](const char* what, const std::vector<double>& samples) {
    const bench::Summary found = bench::summarise(samples);
    std::printf("%-44s %12.1f  (%.1f to %.1f)\n", what, found.median, found.p10, found.p90);
    report.note(what, {{"median", found.median}, {"p10", found.p10}, {"p90", found.p90}});
    return found.median;
  };
  const double of_one = tell("fit on one simulated GPU", alone);
  const double of_four = tell("fit mirrored over four simulated GPUs", shared);
  std::printf("%-44s %12.2fx\n", "four beside one", of_four / of_one);
  report.write(options.json());
}
