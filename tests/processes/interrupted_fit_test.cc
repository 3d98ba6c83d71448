// Ctrl-C in a training over processes: all of them stop after the same step, with a usable model, whoever heard it and however
// far ahead of each other they were.
#include <gtest/gtest.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
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
using testing_fit::quiet;
using testing_fit::regions;

volatile std::sig_atomic_t heard = 0;
void hear(int) { heard = heard + 1; }

constexpr std::int64_t steps_per_epoch = 10;
constexpr std::int64_t epochs = 100;
auto data() { return Dataset(regions(40)).shuffle(1).batch(4); }
auto others() { return Dataset(regions(12, 6)).batch(4); }

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

template <class T>
void require_same_everywhere(const MirroredStrategy& strategy, const std::vector<T>& values, const std::string& what) {
  const Tensor own = constant(values);
  const auto reduced = [&](Reduction reduction) { return read<T>(all_reduce({own}, strategy.mesh(), "replica", reduction)[0]); };
  require(reduced(Reduction::max) == values && reduced(Reduction::min) == values, what + " are not the same in every process");
}

std::vector<float> weights_of(const MirroredStrategy& strategy, const Model<testing_fit::Net>& model) {
  std::vector<float> out;
  for (const auto& [name, variable] : named_variables(model.net())) {
    const std::vector<float> one = read<float>(strategy.run([&v = variable] { return v.value(); })[0]);
    out.insert(out.end(), one.begin(), one.end());
  }
  return out;
}

void require_stopped(const MirroredStrategy& strategy, const Model<testing_fit::Net>& model, const History& history) {
  require(history.was_interrupted && history.stopped == "Ctrl-C", "it stopped because '" + history.stopped + "'");
  require_same_everywhere(strategy, std::vector{history.steps}, "the steps");
  require(history.epochs() == history.steps / steps_per_epoch,
          std::to_string(history.epochs()) + " epochs of " + std::to_string(history.steps) + " steps");
  for (const auto& [name, values] : history.values) {
    if (!values.empty()) require_same_everywhere(strategy, values, name);
  }
  require_same_everywhere(strategy, weights_of(strategy, model), "weights");
  require(model.evaluate(data()).at("accuracy") > 0, "the model is usable");
}

std::shared_ptr<Callback> raises_after(std::int64_t step) {
  return on_step_end([step](Training& training) {
    if (training.step() == step) std::raise(SIGINT);
  });
}

bool is_held_back() {
  for (const SyncTotals& each : sync_totals()) {
    if (each.reason == SyncReason::back_pressure && each.waiting > 0) return true;
  }
  return false;
}

}  // namespace

TEST(InterruptedFitOverProcesses, StopsAfterTheSameStepAndCanGoOn) {
  Job job(3, [](int rank) {
    std::signal(SIGINT, hear);
    const MirroredStrategy strategy = over_all();
    const auto model = model_of(strategy);
    Callbacks callbacks;
    if (rank == 1) callbacks.push_back(raises_after(13));
    const History history = model.fit(data(), {.epochs = epochs, .callbacks = callbacks, .verbose = quiet});
    require(history.steps >= 13, "it stopped after step " + std::to_string(history.steps));
    require_stopped(strategy, model, history);
    require(heard == 0, "the handler that was there heard of it");
    const History again = model.fit(data(), {.epochs = 2, .verbose = quiet});
    require(!again.was_interrupted && again.steps == 2 * steps_per_epoch, "the next fit");
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
      std::vector<std::int64_t> at(3);
      for (std::int64_t& step : at) step = 1 + static_cast<std::int64_t>(random() % 25);
      const History history = model.fit(data(), {.epochs = epochs,
                                                 .validation = round % 2 == 0 ? others() : Batches(),
                                                 .callbacks = {raises_after(at[static_cast<std::size_t>(rank)])},
                                                 .verbose = quiet});
      require(history.steps >= *std::min_element(at.begin(), at.end()), "it stopped before it was asked to");
      require_stopped(strategy, model, history);
    }
  });
  job.expect_success();
}

// Nobody begins a step while the others hear of it, so it is mostly the last one of an epoch.
TEST(InterruptedFitOverProcesses, EndsAnEpochWhoseLastStepWasMade) {
  Job job(2, [](int) {
    const MirroredStrategy strategy = over_all();
    const auto model = model_of(strategy);
    const auto stands = on_step_end([](Training& training) {
      if (training.step() == 19) std::raise(SIGINT);
      if (training.step() == 20) ::poll(nullptr, 0, 100);
    });
    const History history =
        model.fit(data(), {.epochs = epochs, .validation = others(), .callbacks = {stands}, .verbose = quiet});
    require_stopped(strategy, model, history);
    require(history.at("val_loss").size() == history.at("loss").size(), "an epoch was not validated");
  });
  job.expect_success();
}

class InterruptedFarBehind : public testing::TestWithParam<std::int64_t> {};

// One stands before its first step or after one, while the other submits as many as there is room for, and then waits in one. Its
// program ends with fit: the first still gets from it what it needs.
TEST_P(InterruptedFarBehind, StopsTheOthersWhereTheyWait) {
  const Witness<Board> board;
  Job job(2, [&board](int rank) {
    const MirroredStrategy strategy = over_all();
    const auto model = model_of(strategy);
    std::thread watching;
    if (rank == 1) {
      watching = std::thread([&] {
        while (!is_held_back()) std::this_thread::yield();
        board->stage = 1;
      });
    }
    const std::int64_t stands_after = GetParam();
    if (rank == 0 && stands_after == 0) await_at_least(board->stage, 1);
    const auto stands = on_step_end([&](Training& training) {
      if (rank != 0 || training.step() != std::max<std::int64_t>(1, stands_after)) return;
      await_at_least(board->stage, 1);
      std::raise(SIGINT);
    });
    // One epoch, whose sums nobody reads when it is stopped.
    const auto endless = Dataset(regions(40'000)).batch(4);
    const History history = model.fit(endless, {.epochs = 1, .callbacks = {stands}, .verbose = quiet});
    if (watching.joinable()) watching.join();
    require(history.stopped == "Ctrl-C", "it stopped because '" + history.stopped + "'");
    board->others[rank] = static_cast<int>(history.steps);
  });
  job.expect_success();
  EXPECT_EQ(board->others[0], board->others[1]);
  EXPECT_GE(board->others[0], GetParam());
}

INSTANTIATE_TEST_SUITE_P(OverProcesses, InterruptedFarBehind, testing::Values(0, 1, 5),
                         [](const auto& param) { return "After" + std::to_string(param.param); });

TEST(InterruptedFitOverProcesses, SavesACheckpointToGoOnFromWithTheSameBits) {
  const std::string path = testing::TempDir() + "interrupted_fit_" + std::to_string(::getpid()) + ".safetensors";
  Job job(2, [&path](int rank) {
    const MirroredStrategy strategy = over_all();
    constexpr std::int64_t all = 40;
    const auto whole = model_of(strategy);
    const History wanted = whole.fit(data(), {.epochs = all, .verbose = quiet});
    const auto cut = model_of(strategy);
    // Steps that take a moment: it is to be heard before the last.
    const auto slowly = on_step_end([](Training& training) { ::poll(nullptr, 0, training.step() > 14 ? 20 : 0); });
    Callbacks callbacks{checkpoints(path, {.every_epochs = 0}), slowly};
    if (rank == 1) callbacks.push_back(raises_after(14));
    const History until = cut.fit(data(), {.epochs = all, .callbacks = callbacks, .verbose = quiet});
    require(until.was_interrupted && until.steps < wanted.steps, "it made all its steps");
    const auto again = model_of(strategy);
    const History history = again.fit(data(), {.epochs = all, .verbose = quiet, .resume = path});
    require(history.steps == wanted.steps && history.values == wanted.values, "other values");
    require(weights_of(strategy, again) == weights_of(strategy, whole), "other bits");
  });
  job.expect_success();
  std::filesystem::remove(path);
}

// One of them alone hears it, when all steps are submitted: there is nothing left to stop, and callbacks do the same in all.
TEST(InterruptedFitOverProcesses, IsToldToWhomItCameAtTheVeryEnd) {
  const std::string path = testing::TempDir() + "interrupted_late_" + std::to_string(::getpid()) + ".safetensors";
  Job job(2, [&path](int rank) {
    const MirroredStrategy strategy = over_all();
    const auto model = model_of(strategy);
    const auto late = on_epoch_end([rank](Training& training) {
      if (rank == 1 && training.epoch() == 1) std::raise(SIGINT);
    });
    const History history =
        model.fit(data(), {.epochs = 2, .callbacks = {late, checkpoints(path, {.every_epochs = 0})}, .verbose = quiet});
    require(history.was_interrupted == (rank == 1) && history.stopped.empty(), "it says that '" + history.stopped + "'");
    require(history.epochs() == 2, "the epochs");
    require_same_everywhere(strategy, weights_of(strategy, model), "weights");
  });
  job.expect_success();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(InterruptedFitOverProcesses, StopsThoseTooThatDoNotListenThemselves) {
  Job job(2, [](int rank) {
    std::signal(SIGINT, hear);
    const MirroredStrategy strategy = over_all();
    const auto model = model_of(strategy);
    const History history =
        model.fit(data(), {.epochs = epochs, .callbacks = {raises_after(7)}, .verbose = quiet, .stop_at_interrupt = rank == 1});
    require(heard == (rank == 0 ? 1 : 0), "the handler that was there");
    require_stopped(strategy, model, history);
  });
  job.expect_success();
}

TEST(InterruptedFitOverProcesses, SaysWhoDiedMeanwhile) {
  const Witness<Board> board;
  Job job(3, [&board](int rank) {
    const MirroredStrategy strategy = over_all();
    const auto model = model_of(strategy);
    const auto at_first = on_step_end([&](Training& training) {
      if (training.step() != 1) return;
      if (rank == 1) {
        std::raise(SIGINT);
        board->stage = 1;
      }
      if (rank == 2) {
        await_at_least(board->stage, 1);
        std::raise(SIGKILL);
      }
    });
    const std::string what = thrown_by<MemberLost>(
        [&] { static_cast<void>(model.fit(data(), {.epochs = epochs, .callbacks = {at_first}, .verbose = quiet})); }, 20s);
    require_in(what, "rank 2 (");
  });
  EXPECT_EQ(job.status(0), 0);
  EXPECT_EQ(job.status(1), 0);
  EXPECT_EQ(job.status(2), -SIGKILL);
}

TEST(InterruptedFitOverProcesses, EndsByASecondOne) {
  const Witness<Board> board;
  Job job(2, [&board](int) {
    const MirroredStrategy strategy = over_all();
    const auto model = model_of(strategy);
    const auto twice = on_step_end([&](Training& training) {
      if (training.step() != 5) return;
      ++board->count;
      await_at_least(board->count, 2);
      std::raise(SIGINT);
      std::raise(SIGINT);
    });
    static_cast<void>(model.fit(data(), {.epochs = epochs, .callbacks = {twice}, .verbose = quiet}));
  });
  for (const int rank : {0, 1}) EXPECT_EQ(job.status(rank), -SIGINT);
}

}  // namespace tutti
