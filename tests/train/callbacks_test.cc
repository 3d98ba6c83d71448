// Callbacks hear of every step and epoch, and may end a training.
#include <gmock/gmock.h>

#include "train/fit_problems.h"

namespace tutti::testing_fit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The loss is the learning rate's doing alone: its value at each step is what the test says.
struct Scripted {
  Variable weight{zeros({1})};
  [[nodiscard]] Tensor operator()(const Tensor& x) const { return x + weight.value(); }
};
Model<Scripted> scripted() {
  Model<Scripted> model(Scripted{});
  // Each epoch is one batch, and its target is the epoch's loss; the weight goes down by 1 a step.
  model.compile({.optimizer = sgd(1.0), .loss = [](const Tensor& outputs, const Tensor& targets) {
                   return mean(outputs) + stop_gradient(mean(targets) - mean(outputs));
                 }});
  return model;
}

TEST(Callbacks, HearOfEverythingInOrder) {
  const Model<Scripted> model = scripted();
  std::vector<std::string> heard;
  struct Listener final : Callback {
    explicit Listener(std::vector<std::string>& to) : heard(to) {}
    void on_begin(Training&) override { heard.emplace_back("begin"); }
    void on_step_end(Training& training) override { heard.push_back("step " + std::to_string(training.step())); }
    void on_epoch_end(Training& training) override { heard.push_back("epoch " + std::to_string(training.epoch())); }
    void on_end(Training&) override { heard.emplace_back("end"); }
    std::vector<std::string>& heard;
  };
  const auto data = Dataset(std::tuple(zeros({4, 1}), zeros({4, 1}))).batch(2);
  static_cast<void>(model.fit(data, {.epochs = 2, .callbacks = {std::make_shared<Listener>(heard)}, .verbose = quiet}));
  EXPECT_THAT(heard, ElementsAre("begin", "step 1", "step 2", "epoch 0", "step 3", "step 4", "epoch 1", "end"));
}

TEST(Callbacks, KeepStateAfterAllHaveSeenTheEpoch) {
  const Model<Scripted> model = scripted();
  std::string heard;
  struct Listener final : Callback {
    Listener(std::string& to, std::string number) : heard(to), own(std::move(number)) {}
    void on_epoch_end(Training&) override { heard += "end" + own + " "; }
    void after_epoch(Training&) override { heard += "after" + own + " "; }
    std::string& heard;
    std::string own;
  };
  const auto data = Dataset(std::tuple(zeros({4, 1}), zeros({4, 1}))).batch(4);
  static_cast<void>(model.fit(
      data, {.callbacks = {std::make_shared<Listener>(heard, "1"), std::make_shared<Listener>(heard, "2")}, .verbose = quiet}));
  EXPECT_EQ(heard, "end1 end2 after1 after2 ");
}

TEST(Callbacks, StopAfterTheStepOrAfterTheEpoch) {
  const Model<Scripted> model = scripted();
  const auto data = Dataset(std::tuple(zeros({8, 1}), zeros({8, 1}))).batch(2);
  const History amid = model.fit(data, {.epochs = 9,
                                        .callbacks = {on_step_end([](Training& training) {
                                          if (training.step() == 6) training.stop("seen enough");
                                        })},
                                        .verbose = quiet});
  EXPECT_EQ(amid.steps, 6);
  EXPECT_EQ(amid.epochs(), 1);
  EXPECT_EQ(amid.stopped, "seen enough");
  const History after = model.fit(data, {.epochs = 9,
                                         .callbacks = {on_epoch_end([](Training& training) {
                                           if (training.epoch() == 1) training.stop("two epochs will do");
                                         })},
                                         .verbose = quiet});
  EXPECT_EQ(after.steps, 8);
  EXPECT_EQ(after.epochs(), 2);
}

// The loss is the target: 0 in the first epoch, 1 in the second, ... CPU ops have run when they return.
TEST(Callbacks, SeeNoValuesOfTheEpochBefore) {
  const Model<Scripted> model = scripted();
  double now = 0;
  const auto data = Dataset(std::tuple(zeros({6, 1}), zeros({6, 1}))).batch(2).map([&](const std::tuple<Tensor, Tensor>& batch) {
    return std::tuple(std::get<0>(batch), std::get<1>(batch) + now);
  });
  std::vector<NamedValues> amid;
  std::vector<NamedValues> at_ends;
  const Callbacks listening{on_step_end([&](Training& training) { amid.push_back(training.values()); }),
                            on_epoch_end([&](Training& training) {
                              at_ends.push_back(training.values());
                              ++now;
                            })};
  static_cast<void>(model.fit(data, {.epochs = 3, .callbacks = listening, .verbose = quiet}));
  ASSERT_EQ(amid.size(), 9U);
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    const NamedValues own{{"loss", static_cast<double>(epoch)}};
    EXPECT_EQ(amid[3 * epoch], NamedValues()) << "nothing of epoch " << epoch << " has come";
    EXPECT_EQ(amid[3 * epoch + 2], own) << "sent for at the first step of epoch " << epoch;
    EXPECT_EQ(at_ends[epoch], own);
  }
}

// Losses of the epochs, one batch each, in this order.
History stopped_early(const Model<Scripted>& model, const std::vector<float>& losses, const EarlyStoppingOptions& options) {
  History all;
  const auto rows = static_cast<std::int64_t>(losses.size());
  const Tensor targets = constant(std::span(losses), Shape{rows, 1});
  // One epoch has one row of the table: data sets of one row each would do as well, but this is one training.
  std::size_t next = 0;
  const auto data = Dataset(std::tuple(zeros({1, 1}), zeros({1, 1}))).batch(1).map([&](const std::tuple<Tensor, Tensor>& batch) {
    const auto row = static_cast<std::int64_t>(next++);
    return std::tuple(std::get<0>(batch), slice(targets, 0, {row, row + 1}));
  });
  return model.fit(data, {.epochs = rows, .callbacks = {early_stopping(options)}, .verbose = quiet});
}

TEST(EarlyStopping, EndsWhenNothingGotBetterForSoLong) {
  const History history = stopped_early(scripted(), {5, 4, 4, 4.5F, 3, 2, 2.5F, 2.25F, 9, 1}, {.patience = 2});
  EXPECT_THAT(history.at("loss"), ElementsAre(5, 4, 4, 4.5, 3, 2, 2.5, 2.25, 9));
  EXPECT_EQ(history.stopped, "loss was no better than 2 for 3 epochs");
  EXPECT_EQ(stopped_early(scripted(), {1, 2, 3, 4}, {.larger_is_better = true}).epochs(), 4);
  EXPECT_EQ(stopped_early(scripted(), {4, 3.9F, 3.8F, 1}, {.least_change = 0.5}).epochs(), 2);
  EXPECT_EQ(stopped_early(scripted(), {4, std::nanf(""), 3, 2}, {.patience = 1}).epochs(), 4);
}

TEST(EarlyStopping, RestoresTheBestWeightsIfAsked) {
  const Model<Scripted> kept = scripted();
  static_cast<void>(stopped_early(kept, {5, 1, 4, 3}, {.patience = 1}));
  EXPECT_EQ(item<float>(kept.net().weight.value()), -4);
  const Model<Scripted> restored = scripted();
  static_cast<void>(stopped_early(restored, {5, 1, 4, 3}, {.patience = 1, .restore_best = true}));
  EXPECT_EQ(item<float>(restored.net().weight.value()), -2);
  const Model<Scripted> to_the_end = scripted();
  static_cast<void>(stopped_early(to_the_end, {5, 1, 4, 3}, {.patience = 9, .restore_best = true}));
  EXPECT_EQ(item<float>(to_the_end.net().weight.value()), -2) << "also where the training went to its end";
}

TEST(EarlyStopping, RestoresThemWhereTheTrainingEndsWithinTheEpochAfterTheBest) {
  // Every epoch is better than the one before: 2 steps each, of -1.
  const auto data = Dataset(std::tuple(zeros({4, 1}), zeros({4, 1}))).batch(2);
  const Model<Scripted> falling{Scripted{}};
  falling.compile({.optimizer = sgd(1.0), .loss = [](const Tensor& outputs, const Tensor&) { return mean(outputs); }});
  static_cast<void>(falling.fit(data, {.epochs = 5,
                                       .callbacks = {early_stopping({.restore_best = true}), on_step_end([](Training& training) {
                                                       if (training.step() == 5) training.stop("here");
                                                     })},
                                       .verbose = quiet}));
  EXPECT_EQ(item<float>(falling.net().weight.value()), -4);
}

TEST(EarlyStopping, NamesWhatItCouldLookAt) {
  try {
    static_cast<void>(stopped_early(scripted(), {5, 1}, {.monitor = "val_loss"}));
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("there is no \"val_loss\""));
    EXPECT_THAT(error.what(), HasSubstr("there are: loss"));
  }
  EXPECT_THROW(static_cast<void>(early_stopping({.patience = -1})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(checkpoints("x", {.every_steps = -1})), InvalidArgument);
}

}  // namespace
}  // namespace tutti::testing_fit
