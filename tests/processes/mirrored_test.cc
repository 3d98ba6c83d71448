// A model mirrored over several processes: the same weights everywhere, the loss of one process, and one roll call a step.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "processes/job.h"
#include "tutti/journal/journal.h"

namespace tutti {

namespace {

using namespace testing_processes;

struct Pair {
  Dense hidden{4, 8};
  Dense out{8, 1};
  Variable half{cast(ones({3}), DType::bf16)};
  Tensor operator()(const Tensor& x) const { return out(tanh(hidden(x))) + cast(sum(half.value()), DType::f32) * 0.1; }
};

std::size_t roll_calls() {
  std::size_t out = 0;
  for (const journal::ThreadEvents& thread : journal::snapshot().threads) {
    for (const journal::Event& event : thread.events) out += event.kind == journal::EventKind::roll_call ? 1 : 0;
  }
  return out;
}

std::vector<std::vector<float>> trained(const MirroredStrategy& strategy, std::size_t expected_roll_calls) {
  std::unique_ptr<const Pair> net;
  std::unique_ptr<Adam> optimizer;
  {
    const MirroredStrategy::Scope in(strategy);
    net = std::make_unique<Pair>();
    optimizer = std::make_unique<Adam>(parameters(*net), 0.05);
  }
  const auto step = [&](std::uint64_t number) {
    const Tensor x = uniform({7, 4}, {.key = number, .low = -1, .high = 1});
    const auto lists = strategy.run(
        [&](const Tensor& part) {
          const double share = static_cast<double>(part.shape()[0]) / 7;
          return grad([&](const Pair& model) { return mean(square(model(part) - 1)) * share; })(*net);
        },
        strategy.split(x));
    strategy.run([&](const std::vector<Tensor>& mine) { optimizer->update(mine); }, strategy.all_reduce(lists, Reduction::sum));
  };
  std::vector<std::vector<float>> out;
  const auto read_all = [&] {
    out.clear();
    for (const auto& [name, variable] : named_variables(*net)) {
      for (const Tensor& each : strategy.run([&v = variable] { return cast(v.value(), DType::f32); }))
        out.push_back(read<float>(each));
    }
  };
  read_all();  // the first values are under way no longer
  journal::start();
  {
    const SyncScope strict(OnSync::error);
    for (std::uint64_t i = 0; i < 5; ++i) step(i);
  }
  read_all();
  journal::stop();
  require(roll_calls() == expected_roll_calls * 5, "roll calls in five steps: " + std::to_string(roll_calls()));
  return out;
}

void compare_with_one_process(const std::vector<std::string>& devices) {
  set_seed(11);
  const MirroredStrategy alone({devices.front()});
  const auto expected = trained(alone, 0);
  const Mesh mesh = create_distributed_mesh({{"replica", -1}}, devices);
  set_seed(static_cast<std::uint64_t>(11 + mesh.client().rank));  // the first process's values count
  const MirroredStrategy all(mesh);
  require(all.replicas() == devices.size() && all.replicas_in_sync() == mesh.size(), "the replicas");
  const auto found = trained(all, 1);
  require(found.size() == expected.size() * devices.size(), "a value on each device");
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::vector<float>& of_one = expected[i / devices.size()];
    require(found[i] == found[i - i % devices.size()], "the same bits on the devices of a process");
    for (std::size_t k = 0; k < of_one.size(); ++k)
      require(std::abs(found[i][k] - of_one[k]) < 1e-2F * (1 + std::abs(of_one[k])),
              "variable " + std::to_string(i) + ": " + std::to_string(found[i][k]) + ", alone " + std::to_string(of_one[k]));
    // And in all processes.
    const Tensor own = constant(std::span(found[i]));
    const std::vector<Tensor> mine(devices.size(), own);
    require(read<float>(all_reduce(mine, mesh, "replica", Reduction::max)[0]) == found[i], "the same bits in every process");
    require(read<float>(all_reduce(mine, mesh, "replica", Reduction::min)[0]) == found[i], "the same bits in every process");
  }
}

}  // namespace

TEST(MirroredProcesses, LearnAsOneWithOneRollCallAStep) {
  Job job(3, [](int) {
    simulate_gpus(1);
    compare_with_one_process({"GPU:0"});
  });
  job.expect_success();
}

TEST(MirroredProcesses, OfSeveralDevicesToo) {
  Job job(2, [](int) {
    simulate_gpus(2);
    compare_with_one_process({"GPU:0", "GPU:1"});
  });
  job.expect_success();
}

TEST(MirroredProcesses, ShareOutRowsAndReduceOverAll) {
  Job job(2, [](int rank) {
    simulate_gpus(2);
    const MirroredStrategy strategy(create_distributed_mesh({{"replica", -1}}, {"GPU:0", "GPU:1"}));
    const auto parts = strategy.split(arange(7));
    const std::vector<std::vector<std::int64_t>> rows =
        rank == 0 ? std::vector<std::vector<std::int64_t>>{{0, 1}, {2, 3}} : std::vector<std::vector<std::int64_t>>{{4, 5}, {6}};
    for (std::size_t i = 0; i < 2; ++i) require(read<std::int64_t>(parts[i]) == rows[i], "rows of replica " + std::to_string(i));
    const auto sums = strategy.run([](const Tensor& x) { return sum(cast(x, DType::f32)); }, parts);
    require(item<float>(strategy.reduce(sums, Reduction::sum)) == 21, "the sum of all");
    require(item<float>(strategy.reduce(sums, Reduction::max)) == 9, "the largest");
    require(item<float>(strategy.reduce(sums, Reduction::mean)) == 21.F / 4, "the mean");
  });
  job.expect_success();
}

TEST(MirroredProcesses, DrawOtherNumbersInEachFromTheSameSeed) {
  Job job(2, [](int) {
    simulate_gpus(1);
    const MirroredStrategy strategy(create_distributed_mesh({{"replica", -1}}, {"GPU:0"}));
    set_seed(5);
    const auto draw = capture([&] { return strategy.run([] { return normal({32}); })[0]; });
    for (int i = 0; i < 3; ++i) {
      const std::vector<float> both = read<float>(all_gather({draw()}, strategy.mesh(), "replica", 0)[0]);
      require(both.size() == 64, "64 numbers");
      for (std::size_t k = 0; k < 32; ++k) require(both[k] != both[32 + k], "the processes drew the same number");
    }
    const Tensor outside = normal({32});
    require(read<float>(all_reduce({outside}, strategy.mesh(), "replica", Reduction::max)[0]) == read<float>(outside),
            "outside run() all have drawn as much");
  });
  job.expect_success();
}

TEST(MirroredProcesses, AStrategyOverOneOfThemAloneSaysOnceWhatToWriteInstead) {
  Job job(2, [](int) {
    simulate_gpus(1);
    std::vector<std::string> lines;
    set_log_sink([&](LogLevel level, std::string_view line) {
      if (level == LogLevel::warning) lines.emplace_back(line);
    });
    const MirroredStrategy first;
    const MirroredStrategy second;
    const MirroredStrategy all(create_distributed_mesh({{"replica", -1}}, {"GPU:0"}));
    set_log_sink({});
    require(lines.size() == 1, std::to_string(lines.size()) + " warnings");
    require_in(lines[0], "one of 2 processes, and each will train a model of its own");
    require_in(lines[0], R"(MirroredStrategy(create_distributed_mesh({{"replica", -1}}, {"GPU:0"})))");
  });
  job.expect_success();
}

}  // namespace tutti
