// What a MirroredStrategy promises beyond the sums: its replicas, its variables, its order, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "streams/gate.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using testing::HasSubstr;

using Replicated = std::vector<std::vector<float>>;

std::vector<std::string> gpus(std::size_t count) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back("GPU:" + std::to_string(i));
  return out;
}

Variable mirrored(const MirroredStrategy& strategy, const Tensor& initial) {
  const MirroredStrategy::Scope in(strategy);
  return Variable(initial);
}

Replicated on_replicas(const MirroredStrategy& strategy, const Variable& variable) {
  Replicated out;
  for (const Tensor& each : strategy.run([&] { return variable.value(); })) out.push_back(read<float>(each));
  return out;
}

template <class Failure, class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const Failure& e) {
    return e.what();
  }
  return "nothing was thrown";
}

std::vector<std::string> logged_by(const std::function<void()>& call) {
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  call();
  set_log_sink({});
  return lines;
}

struct Layered {
  Dense first{5, 24};
  Dense second{24, 24};
  Dense last{24, 2};
  Tensor operator()(const Tensor& x) const { return last(tanh(second(tanh(first(x))))); }
};

// Weights after some steps on batches whose rows no number of replicas divides.
Replicated trained_on(const std::vector<std::string>& devices) {
  const MirroredStrategy strategy(devices, {.bucket_bytes = 1000});
  set_seed(3);
  std::unique_ptr<const Layered> net;
  std::unique_ptr<Sgd> optimizer;
  {
    const MirroredStrategy::Scope in(strategy);
    net = std::make_unique<Layered>();
    optimizer = std::make_unique<Sgd>(parameters(*net), 0.1, SgdOptions{.momentum = 0.9});
  }
  for (std::uint64_t step = 0; step < 6; ++step) {
    const Tensor x = uniform({19, 5}, {.key = step, .low = -1, .high = 1});
    const auto lists = strategy.run(
        [&](const Tensor& part) {
          const double share = static_cast<double>(part.shape()[0]) / 19;
          return grad([&](const Layered& model) { return mean(square(model(part))) * share; })(*net);
        },
        strategy.split(x));
    strategy.run([&](const std::vector<Tensor>& mine) { optimizer->update(mine); }, strategy.all_reduce(lists, Reduction::sum));
    for (const auto& [name, variable] : named_variables(*net)) {
      const auto here = strategy.run([&v = variable] { return v.value(); });
      for (const Tensor& each : here) EXPECT_EQ(read<float>(each), read<float>(here[0])) << name << " after step " << step;
    }
  }
  Replicated out;
  for (const auto& [name, variable] : named_variables(*net)) out.push_back(read<float>(variable.value()));
  return out;
}

void expect_close_to_one(const std::vector<std::string>& all) {
  const Replicated alone = trained_on({all[0]});
  for (const std::size_t replicas : {2U, 4U, 8U}) {
    const Replicated many = trained_on({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(replicas)});
    ASSERT_EQ(many.size(), alone.size());
    for (std::size_t i = 0; i < alone.size(); ++i) {
      for (std::size_t k = 0; k < alone[i].size(); ++k)
        ASSERT_NEAR(many[i][k], alone[i][k], 1e-5) << replicas << " replicas, variable " << i;
    }
  }
}

TEST(MirroredStrategy, GivesTheSameWeightsOnOneTwoFourAndEightGpus) {
  simulate_gpus(8);
  expect_close_to_one(gpus(8));
}

TEST(MirroredStrategy, GivesTheSameWeightsOnOneTwoFourAndEightCpuDevices) {
  simulate_gpus(0);
  set_logical_device_configuration(list_physical_devices("CPU").at(0), std::vector<LogicalDeviceConfiguration>(8));
  std::vector<std::string> all;
  for (int i = 0; i < 8; ++i) all.push_back("CPU:" + std::to_string(i));
  expect_close_to_one(all);
}

TEST(MirroredStrategy, SaysWhichDevicesItUses) {
  simulate_gpus(2);
  EXPECT_THAT(logged_by([] { const MirroredStrategy all; }),
              testing::ElementsAre("Using MirroredStrategy with devices ('/job:localhost/replica:0/task:0/device:GPU:0', "
                                   "'/job:localhost/replica:0/task:0/device:GPU:1')"));
  EXPECT_THAT(logged_by([] { const MirroredStrategy one({"gpu:1"}); }),
              testing::ElementsAre("Using MirroredStrategy with devices ('/job:localhost/replica:0/task:0/device:GPU:1',)"));
}

TEST(MirroredStrategy, IsOverTheCpuWhereThereIsNoGpu) {
  simulate_gpus(0);
  if (!list_physical_devices("GPU").empty()) GTEST_SKIP() << "there is a GPU";
  const MirroredStrategy strategy;
  EXPECT_EQ(strategy.devices(), std::vector<std::string>{"/job:localhost/replica:0/task:0/device:CPU:0"});
  EXPECT_EQ(strategy.replicas_in_sync(), 1U);
}

// A backward pass that stands still in its middle: what was behind that point is reduced, the rest is not.
TEST(MirroredStrategy, ReducesGradientsWhileTheBackwardPassGoesOn) {
  simulate_gpus(2);
  const MirroredStrategy strategy(gpus(2), {.bucket_bytes = 1});
  const Variable early = mirrored(strategy, constant({1.F, 2.F}));
  const Variable late = mirrored(strategy, constant({3.F, 4.F}));
  std::deque<testing_streams::Gate> gates;
  const auto standing_still = custom_gradient([](const Tensor& x) { return x * 1; },
                                              [&](std::span<const Tensor> inputs, auto, std::span<const Tensor> given) {
                                                (void)gates.emplace_back().close(inputs[0].device());
                                                return std::vector<Tensor>{given[0] * 1};
                                              });
  const auto lists = strategy.run([&] {
    return grad([&](const std::vector<Variable>& all) { return sum(standing_still(all[0] * 2) * all[1]); })(
        std::vector<Variable>{early, late});
  });
  const auto reduced = strategy.all_reduce(lists, Reduction::sum);
  ASSERT_EQ(gates.size(), 2U);
  for (const testing_streams::Gate& gate : gates) gate.await_entered();
  for (const std::vector<Tensor>& list : reduced) {
    const StreamScope beside(Stream(list[1].device()));  // a read, too, would stand behind the gate
    EXPECT_EQ(read<float>(list[1]), (std::vector<float>{4, 8})) << "of the late variable, with the gates closed";
    EXPECT_FALSE(list[0].is_ready());
  }
  for (testing_streams::Gate& gate : gates) gate.open();
  for (const std::vector<Tensor>& list : reduced) EXPECT_EQ(read<float>(list[0]), (std::vector<float>{12, 16}));
}

// Each replica holds its device until the other's kernel runs too.
TEST(MirroredStrategy, RunsReplicasAtTheSameTime) {
  simulate_gpus(2);
  std::deque<testing_streams::Gate> gates(2);
  const MirroredStrategy strategy(gpus(2));
  std::size_t next = 0;
  strategy.run([&] { (void)gates[next].close(strategy.devices()[next]), ++next; });
  for (const testing_streams::Gate& gate : gates) gate.await_entered();
}

TEST(MirroredStrategy, RunsCpuDevicesAtTheSameTimeToo) {
  simulate_gpus(0);
  set_logical_device_configuration(list_physical_devices("CPU").at(0), {{}, {}});
  std::deque<testing_streams::Gate> gates(2);
  const MirroredStrategy strategy({"CPU:0", "CPU:1"});
  std::size_t next = 0;
  strategy.run([&] { (void)gates[next].close(strategy.devices()[next]), ++next; });
  for (const testing_streams::Gate& gate : gates) gate.await_entered();
  EXPECT_TRUE(get_synchronous_execution());
}

TEST(MirroredStrategy, SplitsRowsWithTheRemainderInFront) {
  simulate_gpus(4);
  const MirroredStrategy strategy(gpus(4));
  const auto rows = [&](std::int64_t count) {
    std::vector<std::vector<std::int64_t>> out;
    const auto parts = strategy.split(std::pair(arange(count), reshape(arange(count * 2), {count, 2})));
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(parts[i].first.device(), strategy.devices()[i]);
      EXPECT_EQ(parts[i].second.shape()[0], parts[i].first.shape()[0]);
      out.push_back(read<std::int64_t>(parts[i].first));
    }
    return out;
  };
  using Rows = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(rows(8), (Rows{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(rows(7), (Rows{{0, 1}, {2, 3}, {4, 5}, {6}}));
  EXPECT_EQ(rows(5), (Rows{{0, 1}, {2}, {3}, {4}}));
  EXPECT_EQ(rows(2), (Rows{{0}, {1}, {}, {}}));
  EXPECT_EQ(rows(0), (Rows{{}, {}, {}, {}}));
}

TEST(MirroredStrategy, DrawsDifferBetweenReplicasAndFirstValuesDoNot) {
  simulate_gpus(2);
  const MirroredStrategy strategy(gpus(2));
  const Variable weight = mirrored(strategy, normal({8}));
  const Replicated weights = on_replicas(strategy, weight);
  EXPECT_EQ(weights[0], weights[1]);
  const auto drawn = strategy.run([] { return normal({8}); });
  EXPECT_NE(read<float>(drawn[0]), read<float>(drawn[1]));
}

TEST(MirroredStrategy, GradientsAreThoseOfTheReplicasOwnValues) {
  simulate_gpus(2);
  const MirroredStrategy strategy(gpus(2));
  const Variable weight = mirrored(strategy, constant(0.F));
  strategy.run([&](const Tensor& x) { weight.assign(sum(x)); }, strategy.split(constant({3.F, 5.F})));
  const auto slopes = strategy.run([&] {
    Tape tape;
    tape.watch(weight);
    Tensor loss;
    {
      const Tape::Recording on(tape);
      loss = weight * weight;
    }
    return std::pair(tape.gradient(loss, weight), grad([](const Variable& w) { return w * w * w; })(weight));
  });
  for (std::size_t i = 0; i < 2; ++i) {
    const float value = i == 0 ? 3 : 5;
    EXPECT_EQ(item<float>(slopes[i].first), 2 * value);
    EXPECT_EQ(item<float>(slopes[i].second), 3 * value * value);
    EXPECT_EQ(slopes[i].first.device(), strategy.devices()[i]);
  }
}

// From outside, a mirrored variable is one variable: what every replica's cell has to do with the loss counts.
TEST(MirroredStrategy, AGradientAroundRunIsThatOfAllReplicasTogether) {
  simulate_gpus(2);
  const MirroredStrategy strategy(gpus(2));
  const Variable weight = mirrored(strategy, constant(2.F));
  const auto parts = strategy.split(constant({3.F, 5.F}));
  const auto slope = grad([&](const Variable& w) {
    return strategy.reduce(strategy.run([&](const Tensor& x) { return sum(w * w * x); }, parts), Reduction::sum);
  })(weight);
  EXPECT_EQ(item<float>(slope), 2 * 2 * (3 + 5));
  const std::vector<Tensor> twice = grad([&](const std::vector<Variable>& w) {
    return strategy.reduce(strategy.run([&](const Tensor& x) { return sum(w[0] * w[1] * x); }, parts), Reduction::sum);
  })(std::vector<Variable>{weight, weight});
  EXPECT_EQ(item<float>(twice[0]), 2 * 2 * (3 + 5));
}

TEST(MirroredStrategy, FilesHoldTheFirstReplicasValueAndLoadAll) {
  simulate_gpus(3);
  const MirroredStrategy strategy(gpus(3));
  Variable weight = mirrored(strategy, constant({1.F, 2.F}));
  const std::string path = std::filesystem::temp_directory_path() / ("mirrored." + std::to_string(getpid()) + ".safetensors");
  save(path, weight);
  weight.assign(0);
  EXPECT_EQ(on_replicas(strategy, weight), (Replicated{{0, 0}, {0, 0}, {0, 0}}));
  load(path, weight);
  EXPECT_EQ(on_replicas(strategy, weight), (Replicated{{1, 2}, {1, 2}, {1, 2}}));
  std::filesystem::remove(path);
}

TEST(MirroredStrategy, VariablesOfOneFitAnyOverTheSameDevices) {
  simulate_gpus(3);
  const MirroredStrategy strategy(gpus(2));
  const Variable weight = mirrored(strategy, constant(1.F));
  const MirroredStrategy same({"cuda:0", "/GPU:1"});
  same.run([&] { weight.assign_add(1); });
  EXPECT_EQ(on_replicas(strategy, weight), (Replicated{{2}, {2}}));
  const MirroredStrategy other({"GPU:1", "GPU:0"});
  EXPECT_THAT(refusal<InvalidState>([&] { other.run([&] { weight.assign_add(1); }); }), HasSubstr("Scope of this strategy"));
}

TEST(MirroredStrategy, ReadsButDoesNotAssignVariablesMadeElsewhere) {
  simulate_gpus(2);
  const MirroredStrategy strategy(gpus(2));
  const Variable plain(constant(3.F));
  const auto twice = strategy.run([&] { return plain * 2; });
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(item<float>(twice[i]), 6);
    EXPECT_EQ(twice[i].device(), strategy.devices()[i]);
  }
  for (const auto& change :
       {std::function<void()>([&] { plain.assign(1); }), std::function<void()>([&] { plain.assign_add(1); })})
    EXPECT_THAT(refusal<InvalidState>([&] { strategy.run(change); }),
                HasSubstr("make the variable while a MirroredStrategy::Scope"));
  EXPECT_EQ(item<float>(plain.value()), 3);
  plain.assign(4);  // outside it is like any other
  // What a replica makes for itself is its own.
  const auto sums = strategy.run([] {
    const Variable sum_so_far(constant(1.F));
    sum_so_far.assign_add(2);
    return sum_so_far.value();
  });
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(sums[i].device(), strategy.devices()[i]);
}

// Inside it assigns the replica's cell, outside all of them.
TEST(MirroredStrategy, TellsACapturedFunctionInsideRunFromTheSameOutside) {
  simulate_gpus(2);
  const MirroredStrategy strategy(gpus(2));
  const Variable variable = mirrored(strategy, constant({0.F}));
  const auto step = capture([&](const Tensor& x) { variable.assign_add(x); });
  const auto rows = strategy.split(constant({1.F, 1.F}));
  for (float wanted = 0; wanted < 4;) {
    strategy.run(step, rows);
    EXPECT_EQ(on_replicas(strategy, variable), Replicated(2, {++wanted}));
    const DeviceScope first(strategy.devices()[0]);
    step(rows[0]);
    EXPECT_EQ(on_replicas(strategy, variable), Replicated(2, {++wanted}));
  }
}

TEST(MirroredStrategy, PassesArgumentsOnAndGivesResultsOfAnyKind) {
  simulate_gpus(2);
  const MirroredStrategy strategy(gpus(2));
  const PerReplica<std::string> names(std::vector<std::string>{"a", "b"});
  const PerReplica<std::string> out =
      strategy.run([](const std::string& name, int times) { return name + std::to_string(times); }, names, 3);
  EXPECT_EQ(out.values(), (std::vector<std::string>{"a3", "b3"}));
  int calls = 0;
  strategy.run([&] { ++calls; });
  EXPECT_EQ(calls, 2);
}

TEST(MirroredStrategy, RefusesDevicesThatCannotBe) {
  simulate_gpus(2);
  EXPECT_THAT(refusal<InvalidArgument>([] { const MirroredStrategy none(std::vector<std::string>{}); }), HasSubstr("is empty"));
  EXPECT_THAT(refusal<InvalidArgument>([] {
                const MirroredStrategy twice({"GPU:0", "/gpu:0"});
              }),
              HasSubstr("No duplicates allowed in `devices` argument: /gpu:0 is "));
  EXPECT_THAT(refusal<UnknownDevice>([] {
                const MirroredStrategy unknown({"GPU:0", "GPU:7"});
              }),
              HasSubstr("'GPU:7' unknown device"));
  EXPECT_THAT(refusal<InvalidDeviceName>([] { const MirroredStrategy wrong({"GPU:O"}); }), HasSubstr("position"));
  const Mesh grid = create_mesh({{"x", 2}, {"y", 1}}, {"GPU:0", "GPU:1"});
  EXPECT_THAT(refusal<InvalidArgument>([&] { const MirroredStrategy two(grid); }), HasSubstr("one dimension"));
}

TEST(MirroredStrategy, RefusesNesting) {
  simulate_gpus(3);
  const MirroredStrategy strategy(gpus(2));
  const MirroredStrategy other({"GPU:1", "GPU:2"});
  const PerReplica<Tensor> two = strategy.split(ones({2}));
  const std::string inside = "inside its run(); call it outside";
  EXPECT_THAT(refusal<InvalidState>([&] { strategy.run([&] { strategy.run([] {}); }); }), HasSubstr(inside));
  EXPECT_THAT(refusal<InvalidState>([&] { strategy.run([&] { other.run([] {}); }); }), HasSubstr(inside));
  EXPECT_THAT(refusal<InvalidState>([&] { strategy.run([&] { const MirroredStrategy::Scope in(strategy); }); }),
              HasSubstr(inside));
  EXPECT_THAT(refusal<InvalidState>([&] { strategy.run([&] { (void)strategy.reduce(two, Reduction::sum); }); }),
              HasSubstr(inside));
  EXPECT_THAT(refusal<InvalidState>([&] { strategy.run([&] { (void)strategy.split(ones({2})); }); }), HasSubstr(inside));
  EXPECT_THAT(refusal<InvalidState>([&] { strategy.run([&] { (void)strategy.all_reduce({}, Reduction::sum); }); }),
              HasSubstr(inside));
  {
    const MirroredStrategy::Scope in(strategy);
    const MirroredStrategy::Scope again(strategy);
    EXPECT_THAT(refusal<InvalidState>([&] { const MirroredStrategy::Scope within(other); }), HasSubstr("over other devices"));
  }
  const Variable plain(ones({}));  // no scope is left behind
  EXPECT_THAT(refusal<InvalidState>([&] { strategy.run([&] { plain.assign(1); }); }), HasSubstr("make the variable"));
  strategy.run([] {});  // and none of it by what was refused
}

TEST(MirroredStrategy, RefusesValuesThatDoNotFit) {
  simulate_gpus(2);
  const MirroredStrategy strategy(gpus(2));
  const PerReplica<Tensor> three(std::vector<Tensor>(3, ones({})));
  EXPECT_THAT(refusal<InvalidArgument>([&] { strategy.run([](const Tensor&) {}, three); }),
              HasSubstr("a PerReplica of 3 values was given to a MirroredStrategy of 2 replicas"));
  EXPECT_THAT(refusal<InvalidArgument>([&] { (void)strategy.reduce(three, Reduction::sum); }), HasSubstr("of 3 values"));
  using Lists = std::vector<std::vector<Tensor>>;
  const auto all_reduce = [&](Lists lists) {
    return [&strategy, lists = PerReplica<std::vector<Tensor>>(std::move(lists))] {
      (void)strategy.all_reduce(lists, Reduction::sum);
    };
  };
  EXPECT_THAT(refusal<InvalidArgument>(all_reduce(Lists{{ones({2})}, {}})), HasSubstr("replica 1 brings 0"));
  EXPECT_THAT(refusal<ShapeError>(all_reduce(Lists{{ones({2})}, {ones({3})}})), HasSubstr("tensor 0 of replica 0"));
  EXPECT_THAT(refusal<ShapeError>([&] { (void)strategy.split(ones({})); }), HasSubstr("has no axes"));
  EXPECT_THAT(refusal<ShapeError>([&] { (void)strategy.split(std::pair(ones({2}), ones({3}))); }), HasSubstr("as many rows"));
  const auto integers = strategy.split(arange(4));
  EXPECT_THAT(refusal<DTypeError>([&] { (void)strategy.reduce(integers, Reduction::mean); }), HasSubstr("floating"));
}

}  // namespace

}  // namespace tutti
