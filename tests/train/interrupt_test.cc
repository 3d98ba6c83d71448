// Ctrl-C ends a training after its step, not the program; a second one does what it always did.
#include <gmock/gmock.h>

#include <unistd.h>

#include <csignal>
#include <thread>

#include "data/saved_files.h"
#include "streams/gate.h"
#include "train/fit_problems.h"

namespace tutti::testing_fit {
namespace {

volatile std::sig_atomic_t heard = 0;
void hear(int) { heard = heard + 1; }

bool is_installed(void (*handler)(int)) {
  struct sigaction now {};
  return sigaction(SIGINT, nullptr, &now) == 0 && now.sa_handler == handler;
}

class Interrupted : public testing_data::SavedFiles {
 protected:
  static auto data() { return Dataset(regions(40)).shuffle(1).batch(4); }
  static std::shared_ptr<Callback> ctrl_c_after(std::int64_t step) {
    return on_step_end([step](Training& training) {
      if (training.step() == step) std::raise(SIGINT);
    });
  }
};

TEST_F(Interrupted, StopsAfterTheStepAndPutsTheHandlerBack) {
  std::signal(SIGINT, hear);
  const Model model(Net{});
  model.compile(classifier());
  const History history = model.fit(data(), {.epochs = 5, .callbacks = {ctrl_c_after(13)}, .verbose = quiet});
  EXPECT_TRUE(history.was_interrupted);
  EXPECT_EQ(history.stopped, "Ctrl-C");
  EXPECT_EQ(history.steps, 13);
  EXPECT_EQ(history.epochs(), 1);
  EXPECT_EQ(heard, 0);
  EXPECT_TRUE(is_installed(hear));
  EXPECT_GT(model.evaluate(data()).at("accuracy"), 0.0) << "the model is usable";
  EXPECT_FALSE(model.fit(data(), {.verbose = quiet}).was_interrupted);
  std::raise(SIGINT);
  EXPECT_EQ(heard, 1);
}

// It comes while a batch is being made.
TEST_F(Interrupted, SubmitsNoStepAfterIt) {
  int batches = 0;
  const auto interrupting = data().map([&](const std::tuple<Tensor, Tensor>& batch) {
    if (++batches == 7) std::raise(SIGINT);
    return batch;
  });
  const Model model(Net{});
  model.compile(classifier());
  const History history = model.fit(interrupting, {.epochs = 5, .verbose = quiet});
  EXPECT_EQ(history.steps, 6);
  EXPECT_TRUE(history.was_interrupted);
}

TEST_F(Interrupted, DoesNotWaitForTheStepsThatTheHostIsAhead) {
  simulate_gpus(1);
  const Model model(Net{});
  model.compile(classifier());
  testing_streams::Gate gate;
  const auto stalled = on_step_end([&](Training& training) {
    if (training.step() == 3) static_cast<void>(gate.close("GPU:0"));
  });
  const History history = model.fit(data(), {.epochs = 9, .callbacks = {stalled, ctrl_c_after(8)}, .verbose = quiet});
  EXPECT_EQ(history.steps, 8);
  EXPECT_TRUE(history.was_interrupted);
  EXPECT_FALSE(model.net().out.weight.value().is_ready()) << "the device stands after step 3";
}

// All steps are submitted, and fit waits for their values.
TEST_F(Interrupted, IsHeardWhileFitWaitsForTheLastValues) {
  simulate_gpus(1);
  const Model model(Net{});
  model.compile(classifier());
  testing_streams::Gate gate;
  const auto stalled = on_step_end([&](Training& training) {
    if (training.step() == 15) static_cast<void>(gate.close("GPU:0"));
  });
  std::thread user([&] {
    const auto waits = [] {
      for (const SyncTotals& each : sync_totals()) {
        if (each.reason == SyncReason::value_read && each.waiting > 0) return true;
      }
      return false;
    };
    while (!waits()) std::this_thread::yield();
    ::kill(::getpid(), SIGINT);
    gate.open();
  });
  const History history = model.fit(data(), {.epochs = 2, .callbacks = {stalled}, .verbose = quiet});
  user.join();
  EXPECT_TRUE(history.was_interrupted);
  EXPECT_EQ(history.epochs(), 2);
  EXPECT_EQ(history.stopped, "") << "it made all its epochs";
}

TEST_F(Interrupted, IsToldAlsoWhereItComesLast) {
  struct Last final : Callback {
    void on_end(Training&) override { std::raise(SIGINT); }
  };
  std::signal(SIGINT, hear);
  const Model model(Net{});
  model.compile(classifier());
  EXPECT_TRUE(model.fit(data(), {.callbacks = {std::make_shared<Last>()}, .verbose = quiet}).was_interrupted);
  EXPECT_EQ(heard, 0);
}

TEST_F(Interrupted, TwiceDoesWhatItAlwaysDid) {
  std::signal(SIGINT, hear);
  const Model model(Net{});
  model.compile(classifier());
  const History history = model.fit(data(), {.callbacks = {on_step_end([](Training&) {
                                               std::raise(SIGINT);
                                               EXPECT_EQ(heard, 0);
                                               std::raise(SIGINT);
                                             })},
                                             .verbose = quiet});
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(history.steps, 1);
  EXPECT_TRUE(is_installed(hear));
}

TEST_F(Interrupted, TwiceEndsAProgramThatHasNoHandler) {
  std::signal(SIGINT, SIG_DFL);
  EXPECT_EXIT(
      {
        const Model model(Net{});
        model.compile(classifier());
        static_cast<void>(model.fit(data(), {.callbacks = {on_step_end([](Training&) {
                                               std::raise(SIGINT);
                                               std::raise(SIGINT);
                                             })},
                                             .verbose = quiet}));
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST_F(Interrupted, IsLeftToTheProgramWhereThatIsAskedOrIgnored) {
  const Model model(Net{});
  model.compile(classifier());
  std::signal(SIGINT, hear);
  const History mine = model.fit(data(), {.callbacks = {ctrl_c_after(2)}, .verbose = quiet, .stop_at_interrupt = false});
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(mine.steps, 10);
  std::signal(SIGINT, SIG_IGN);
  const History ignored = model.fit(data(), {.callbacks = {ctrl_c_after(2)}, .verbose = quiet});
  EXPECT_EQ(ignored.steps, 10);
  EXPECT_TRUE(is_installed(SIG_IGN));
}

TEST_F(Interrupted, WritesACheckpointToGoOnFrom) {
  const auto fresh = [](std::uint64_t seed) {
    set_seed(seed);
    Model<DroppingNet> out(DroppingNet{});
    out.compile(classifier(adam(0.01)));
    return out;
  };
  const Model<DroppingNet> whole = fresh(1);
  const History wanted = whole.fit(data(), {.epochs = 3, .verbose = quiet});
  for (const std::int64_t step : {4, 10, 17}) {
    SCOPED_TRACE(step);
    const Model<DroppingNet> cut = fresh(1);
    EXPECT_TRUE(
        cut.fit(data(), {.epochs = 3, .callbacks = {checkpoints(path()), ctrl_c_after(step)}, .verbose = quiet}).was_interrupted);
    const Model<DroppingNet> again = fresh(2);
    const History history = again.fit(data(), {.epochs = 3, .verbose = quiet, .resume = path()});
    EXPECT_FALSE(history.was_interrupted);
    EXPECT_EQ(history.values, wanted.values);
    EXPECT_EQ(weights_of(again.net()), weights_of(whole.net()));
  }
}

}  // namespace
}  // namespace tutti::testing_fit
