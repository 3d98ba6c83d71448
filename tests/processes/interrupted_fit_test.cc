// Ctrl-C in a training over processes: all of them stop after the same step, with a usable model, whoever heard it and however
// far ahead of each other they were.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "processes/job.h"
#include "train/fit_problems.h"

namespace tutti {

namespace {

using namespace testing_processes;
using testing_fit::classifier;
using testing_fit::regions;

volatile std::sig_atomic_t heard = 0;
void hear(int) { heard = heard + 1; }

// 10 steps each.
constexpr std::int64_t epochs = 100;
auto data() { return Dataset(regions(40)).shuffle(1).batch(4); }

MirroredStrategy over_all() {
  simulate_gpus(1);
  return MirroredStrategy(create_distributed_mesh({{"replica", -1}}, {"GPU:0"}));
}

Model<testing_fit::Net> model_of(const MirroredStrategy& strategy) {
  set_seed(1);
  Model out(strategy, [] { return testing_fit::Net{}; });
  out.compile(classifier(adam(0.02)));
  return out;
}

// In every process, or after none.
std::int64_t require_same_everywhere(const MirroredStrategy& strategy, std::int64_t value, const std::string& what) {
  const Tensor own = constant(std::vector{value});
  const auto reduced = [&](Reduction reduction) {
    return read<std::int64_t>(all_reduce({own}, strategy.mesh(), "replica", reduction)[0])[0];
  };
  const std::int64_t least = reduced(Reduction::min);
  const std::int64_t most = reduced(Reduction::max);
  require(least == most, what + " differ: from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

void require_stopped(const MirroredStrategy& strategy, const Model<testing_fit::Net>& model, const History& history) {
  require(history.was_interrupted && history.stopped == "Ctrl-C", "it stopped because '" + history.stopped + "'");
  require_same_everywhere(strategy, history.steps, "the steps");
  require_same_everywhere(strategy, history.epochs(), "the epochs");
  require(history.epochs() == (history.steps - 1) / 10 || history.epochs() == history.steps / 10,
          std::to_string(history.epochs()) + " epochs of " + std::to_string(history.steps) + " steps");
  for (const auto& [name, variable] : named_variables(model.net())) {
    const Tensor value = strategy.run([&v = variable] { return v.value(); })[0];
    const auto reduced = [&](Reduction reduction) {
      return read<float>(all_reduce({value}, strategy.mesh(), "replica", reduction)[0]);
    };
    require(reduced(Reduction::min) == reduced(Reduction::max), name + " differs");
  }
  require(model.evaluate(data()).at("accuracy") > 0, "the model is usable");
}

Callbacks raises_after(std::int64_t step) {
  return {on_step_end([step](Training& training) {
    if (training.step() == step) std::raise(SIGINT);
  })};
}

}  // namespace

TEST(InterruptedFitOverProcesses, StopsAfterTheSameStepAndCanGoOn) {
  Job job(3, [](int rank) {
    std::signal(SIGINT, hear);
    const MirroredStrategy strategy = over_all();
    const auto model = model_of(strategy);
    const Callbacks callbacks = rank == 1 ? raises_after(13) : Callbacks();
    const History history = model.fit(data(), {.epochs = epochs, .callbacks = callbacks, .verbose = Verbosity::quiet});
    require(history.steps >= 13, "it stopped after step " + std::to_string(history.steps));
    require_stopped(strategy, model, history);
    require(heard == 0, "the handler that was there heard of it");
    const History again = model.fit(data(), {.epochs = 2, .verbose = Verbosity::quiet});
    require(!again.was_interrupted && again.steps == 20, "the next fit");
    std::raise(SIGINT);
    require(heard == 1, "the handler is not back");
  });
  job.expect_success();
}

// The launcher passes it on to all.
TEST(InterruptedFitOverProcesses, StopsWhenAllHearItAtStepsOfTheirOwn) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Job job(3, [seed](int rank) {
    const MirroredStrategy strategy = over_all();
    std::mt19937 random(seed);
    for (int round = 0; round < 6; ++round) {
      const auto model = model_of(strategy);
      std::vector<std::int64_t> steps(3);
      for (std::int64_t& step : steps) step = 1 + static_cast<std::int64_t>(random() % 25);
      const History history = model.fit(
          data(),
          {.epochs = epochs, .callbacks = raises_after(steps[static_cast<std::size_t>(rank)]), .verbose = Verbosity::quiet});
      require_stopped(strategy, model, history);
    }
  });
  job.expect_success();
}

class InterruptedFarBehind : public testing::TestWithParam<std::int64_t> {};

// One stands before its first step or after one, while the other submits as many as there is room for, and then waits in one.
TEST_P(InterruptedFarBehind, StopsTheOthersWhereTheyWait) {
  const Witness<Board> board;
  Job job(2, [&board](int rank) {
    const MirroredStrategy strategy = over_all();
    const auto model = model_of(strategy);
    const auto is_held_back = [] {
      for (const SyncTotals& each : sync_totals()) {
        if (each.reason == SyncReason::back_pressure && each.waiting > 0) return true;
      }
      return false;
    };
    std::thread watching;
    if (rank == 1) {
      watching = std::thread([&] {
        while (!is_held_back()) std::this_thread::yield();
        board->stage = 1;
      });
    }
    const std::int64_t stands_after = GetParam();
    if (rank == 0 && stands_after == 0) await_at_least(board->stage, 1);
    const Callbacks callbacks{on_step_end([&](Training& training) {
      if (rank != 0 || training.step() != std::max<std::int64_t>(1, stands_after)) return;
      await_at_least(board->stage, 1);
      std::raise(SIGINT);
    })};
    const History history = model.fit(data(), {.epochs = epochs, .callbacks = callbacks, .verbose = Verbosity::quiet});
    if (watching.joinable()) watching.join();
    require_stopped(strategy, model, history);
  });
  job.expect_success();
}

INSTANTIATE_TEST_SUITE_P(OverProcesses, InterruptedFarBehind, testing::Values(0, 1, 5),
                         [](const auto& param) { return "After" + std::to_string(param.param); });

// Nobody asks the others any more who has made all its steps; they make theirs.
TEST(InterruptedFitOverProcesses, MakesAllStepsWhereOneHasMadeThem) {
  Job job(2, [](int rank) {
    const MirroredStrategy strategy = over_all();
    const auto model = model_of(strategy);
    const Callbacks callbacks = rank == 1 ? raises_after(19) : Callbacks();
    const History history = model.fit(data(), {.epochs = 2, .callbacks = callbacks, .verbose = Verbosity::quiet});
    require_same_everywhere(strategy, history.steps, "the steps");
    require(history.steps >= 19, "it stopped after step " + std::to_string(history.steps));
  });
  job.expect_success();
}

TEST(InterruptedFitOverProcesses, EndsByASecondOne) {
  Job job(2, [](int) {
    const MirroredStrategy strategy = over_all();
    const auto model = model_of(strategy);
    const Callbacks callbacks{on_step_end([](Training& training) {
      if (training.step() == 5) std::raise(SIGINT);
      if (training.step() == 5) std::raise(SIGINT);
    })};
    static_cast<void>(model.fit(data(), {.epochs = epochs, .callbacks = callbacks, .verbose = Verbosity::quiet}));
  });
  for (const int rank : {0, 1}) EXPECT_EQ(job.status(rank), -SIGINT);
}

}  // namespace tutti
