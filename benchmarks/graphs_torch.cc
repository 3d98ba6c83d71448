// Captured functions on the CPU: a chain of element-wise ops over large tensors, beside libtorch's eager ops and a loop by hand;
// a program of many small ops, and a small training step, beside libtorch's eager code and our own. Results are compared before
// anything is timed.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "one_pass.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "one_pass.h"

#if HWY_ONCE

#include <ATen/Parallel.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <thread>

#include "torch_step.h"
#include "versus.h"

namespace tutti::kernels {
HWY_EXPORT(one_pass);
}

namespace tt = tutti;

namespace {

void expect(bool is_right, const char* what) {
  if (is_right) return;
  std::fprintf(stderr, "graphs_torch: %s differ\n", what);
  std::exit(1);
}

bool are_close(const tt::Tensor& ours, const torch::Tensor& right) {
  const std::vector<float> mine = tt::read<float>(ours);
  const torch::Tensor flat = right.detach().contiguous().view(-1);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (std::abs(mine[i] - flat.data_ptr<float>()[i]) > 1e-5F * (1 + std::abs(mine[i]))) return false;
  }
  return true;
}

void measure_chain(bench::Report& report, std::uint64_t seed, std::int64_t count, int samples) {
  std::vector<tt::Tensor> ours;
  std::vector<torch::Tensor> theirs;
  for (std::uint64_t i = 0; i < 5; ++i) {
    ours.push_back(tt::normal({count}, {.key = seed + i}));
    theirs.push_back(bench::theirs(ours.back()));
  }
  const auto function = [](const std::vector<tt::Tensor>& t) { return tt::gelu(t[0] * t[1] + t[2]) * t[3] + t[4]; };
  const auto step = tt::capture(function);
  const auto eager = [&] { return torch::gelu(theirs[0] * theirs[1] + theirs[2]) * theirs[3] + theirs[4]; };
  const tt::Tensor made = tt::zeros({count});
  const auto by_hand = [&] {  // on memory of ours, which lies on large pages
    at::parallel_for(0, count / 16, 1, [&](std::int64_t begin, std::int64_t end) {
      const auto at = [&](const tt::Tensor& x) { return reinterpret_cast<float*>(x.impl().address()) + begin * 16; };
      HWY_DYNAMIC_DISPATCH(tutti::kernels::one_pass)
      (at(ours[0]), at(ours[1]), at(ours[2]), at(ours[3]), at(ours[4]), at(made), static_cast<std::size_t>(end - begin) * 16);
    });
  };
  const tt::Tensor first = step(ours);
  const std::vector<float> replayed = tt::read<float>(step(ours));
  by_hand();
  expect(replayed == tt::read<float>(first), "the chain, captured and eager,");
  expect(are_close(first, eager()), "the chain and libtorch's");
  expect(replayed == tt::read<float>(made), "the chain and the loop's");
  const std::string name = "gelu(x*w+b)*m+r, " + std::to_string(count >> 20U) + " Mi floats";
  const auto replay = [&] { (void)step(ours); };
  report.versus(name, "libtorch", 2, samples, 1, replay, [&] { (void)eager(); });
  report.versus(name + ", against a loop", "one loop", 0.7, samples, 1, replay, by_hand);
  report.versus(name + ", against eager", "tutti, eager", 1, samples, 1, replay, [&] { (void)function(ours); });
}

// A hundred small ops, each on what the one before gave.
template <class Tensor, class Maximum, class Relu>
Tensor small_program(Tensor x, const Tensor& y, const Maximum& maximum, const Relu& relu) {
  for (int i = 0; i < 20; ++i) x = relu(maximum(x + y, y) * y - x);
  return x;
}

void measure_small(bench::Report& report, std::uint64_t seed, int samples, int calls) {
  const tt::Tensor x = tt::normal({32, 32}, {.key = seed});
  const tt::Tensor y = tt::normal({32, 32}, {.key = seed + 1});
  const torch::Tensor their_x = bench::theirs(x);
  const torch::Tensor their_y = bench::theirs(y);
  const auto adds = [](tt::Tensor a, const tt::Tensor& b) {
    for (int i = 0; i < 100; ++i) a = a + b;
    return a;
  };
  const auto their_adds = [&] {
    torch::Tensor a = their_x;
    for (int i = 0; i < 100; ++i) a = a + their_y;
    return a;
  };
  const auto mixed = [](const tt::Tensor& a, const tt::Tensor& b) {
    return small_program(
        a, b, [](const auto& p, const auto& q) { return tt::maximum(p, q); }, [](const auto& p) { return tt::relu(p); });
  };
  const auto their_mixed = [&] {
    return small_program(
        their_x, their_y, [](const auto& p, const auto& q) { return torch::maximum(p, q); },
        [](const auto& p) { return torch::relu(p); });
  };
  const auto captured_adds = tt::capture(adds);
  const auto captured_mixed = tt::capture(mixed);
  for (int i = 0; i < 2; ++i) {
    expect(are_close(captured_adds(x, y), their_adds()), "100 adds");
    expect(are_close(captured_mixed(x, y), their_mixed()), "100 small ops");
  }
  const auto ours = [&] { (void)captured_adds(x, y); };
  report.versus("100 adds of 32x32", "libtorch", 5, samples, calls, ours, [&] { (void)their_adds(); });
  report.versus("100 adds of 32x32, against eager", "tutti, eager", 1, samples, calls, ours, [&] { (void)adds(x, y); });
  report.versus(
      "100 ops of 32x32, of 5 kinds", "libtorch", 5, samples, calls, [&] { (void)captured_mixed(x, y); },
      [&] { (void)their_mixed(); });
}

void measure_step(bench::Report& report, std::uint64_t seed, int samples, int calls) {
  const bench::StepData data(bench::small_step, seed);
  const bench::Network network(bench::small_step.widths);
  bench::TorchStep peer(network, data);
  const bench::Network other(bench::small_step.widths);
  bench::StepThroughGradients eager(other);
  bench::StepThroughGradients trained(network);
  const auto step = tt::capture([&](const tt::Tensor& x, const tt::Tensor& labels) {
    bench::StepData given = data;
    given.x = x;
    given.labels = labels;
    return trained(given);
  });
  for (int i = 0; i < 3; ++i) expect(are_close(step(data.x, data.labels), peer()), "the losses");
  expect(are_close(network.second.weight.value(), peer.weight(1)), "the weights");
  const std::string name = "step 64, 256-512-512-10";
  const auto ours = [&] { (void)step(data.x, data.labels); };
  report.versus(name, "libtorch", 2, samples, calls, ours, [&] { (void)peer(); });
  report.versus(name + ", against eager", "tutti, eager", 1, samples, calls, ours, [&] { (void)eager(data); });
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options(argc, argv);
  torch::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  const std::uint64_t seed = std::random_device{}();
  std::printf("seed %llu, libtorch %s with %d threads, tutti %s with %u\n", static_cast<unsigned long long>(seed), TORCH_VERSION,
              torch::get_num_threads(), tt::version(), tt::get_num_threads());
  bench::Report report("graphs");
  bench::Report::heading("peer");
  {
    const torch::NoGradGuard without_gradients;
    measure_chain(report, seed, std::int64_t{options.is_quick() ? 1 : 16} << 20U, options.samples(21));
    if (!options.is_quick()) measure_chain(report, seed, std::int64_t{4} << 20U, 41);
    measure_small(report, seed, options.samples(101), options.calls(100));
  }
  measure_step(report, seed, options.samples(61), options.calls(20));
  report.write(options.json());
}

#endif
