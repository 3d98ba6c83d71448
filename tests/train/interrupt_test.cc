// Ctrl-C ends a training after its step, not the program; a second one does what it always did.
#include <gmock/gmock.h>

#include <csignal>

#include "data/saved_files.h"
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
