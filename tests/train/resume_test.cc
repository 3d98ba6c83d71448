// A training that goes on from a checkpoint ends with the same bits as one that was never stopped, wherever it was cut.
#include <gmock/gmock.h>

#include <random>

#include "data/saved_files.h"
#include "train/fit_problems.h"

namespace tutti::testing_fit {
namespace {

using testing::HasSubstr;

constexpr std::int64_t epochs = 4;

class Resumed : public testing_data::SavedFiles {
 protected:
  struct Outcome {
    std::vector<std::vector<float>> weights;
    std::map<std::string, std::vector<double>> values;
    std::int64_t steps = 0;
    std::vector<float> drawn_next;
  };
  static auto data() { return Dataset(regions(50)).shuffle(11).batch(8); }
  static FitOptions options(Callbacks callbacks) {
    return {
        .epochs = epochs, .validation = Dataset(regions(20, 6)).batch(8), .callbacks = std::move(callbacks), .verbose = quiet};
  }
  static Model<DroppingNet> model(std::uint64_t seed) {
    set_seed(seed);
    Model<DroppingNet> out(DroppingNet{});
    out.compile(classifier(adam(warmup_cosine(0.05, 5, 60))));
    return out;
  }
  static Outcome outcome(const Model<DroppingNet>& model, const History& history) {
    return {weights_of(model.net()), history.values, history.steps, read<float>(uniform({5}))};
  }
  static void expect_same(const Outcome& found, const Outcome& wanted) {
    EXPECT_EQ(found.weights, wanted.weights);
    EXPECT_EQ(found.values, wanted.values);
    EXPECT_EQ(found.steps, wanted.steps);
    EXPECT_EQ(found.drawn_next, wanted.drawn_next);
  }
};

TEST_F(Resumed, EndsWithTheBitsOfATrainingThatWasNeverStopped) {
  const Model<DroppingNet> whole = model(1);
  const Outcome wanted = outcome(whole, whole.fit(data(), options({})));
  ASSERT_EQ(wanted.steps, epochs * 7);
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::vector<std::int64_t> places{1, 7, 8, 14, epochs * 7};
  for (int i = 0; i < 4; ++i) places.push_back(std::uniform_int_distribution<std::int64_t>(1, epochs * 7)(random));
  for (const std::int64_t place : places) {
    SCOPED_TRACE(testing::Message() << "cut after step " << place);
    {
      const Model<DroppingNet> cut = model(1);
      const History history = cut.fit(
          data(), options({checkpoints(path(), {.every_epochs = 0, .every_steps = place}), on_step_end([&](Training& training) {
                             if (training.step() == place) training.stop("the test cuts here");
                           })}));
      EXPECT_EQ(history.stopped, "the test cuts here");
    }
    const Model<DroppingNet> again = model(99);
    FitOptions on = options({});
    on.resume = path();
    expect_same(outcome(again, again.fit(data(), on)), wanted);
  }
}

TEST_F(Resumed, GoesOnFromTheEndOfAnEpoch) {
  const Model<DroppingNet> whole = model(1);
  const Outcome wanted = outcome(whole, whole.fit(data(), options({})));
  {
    const Model<DroppingNet> cut = model(1);
    static_cast<void>(cut.fit(data(), options({checkpoints(path()), on_epoch_end([](Training& training) {
                                                 if (training.epoch() == 1) training.stop("enough");
                                               })})));
  }
  const Model<DroppingNet> again = model(99);
  FitOptions on = options({});
  on.resume = path();
  expect_same(outcome(again, again.fit(data(), on)), wanted);
  on.resume = path();
  on.epochs = 2;
  EXPECT_EQ(again.fit(data(), on).steps, 14) << "nothing is left to do";
}

// The loss of every batch is the same, so means over the epoch do not change either.
TEST_F(Resumed, TellsMeansOverAllOfTheEpochItGoesOnIn) {
  const Model<Net> one(Net{});
  one.compile({.optimizer = sgd(1e-30), .loss = [](const Tensor& outputs, const Tensor&) { return mean(outputs) * 0 + 2; }});
  static_cast<void>(one.fit(
      data(), {.callbacks = {checkpoints(path(), {.every_epochs = 0, .every_steps = 4}), on_step_end([](Training& training) {
                               if (training.step() == 4) training.stop("the test cuts here");
                             })},
               .verbose = quiet}));
  std::vector<double> told;
  static_cast<void>(one.fit(data(), {.callbacks = {on_step_end([&](Training& training) {
                                       const auto found = training.values().find("loss");
                                       if (found != training.values().end()) told.push_back(found->second);
                                       sync_devices();  // so that what was asked for is there at the next step
                                     })},
                                     .verbose = quiet,
                                     .resume = path()}));
  EXPECT_THAT(told, testing::AllOf(testing::Not(testing::IsEmpty()), testing::Each(2.0)));
}

TEST_F(Resumed, KeepsWhatEarlyStoppingKnows) {
  // The loss cannot get better than in the first epoch: the rate is far too high.
  const auto spoilt = [](std::uint64_t seed) {
    set_seed(seed);
    Model<DroppingNet> out(DroppingNet{});
    out.compile(classifier(sgd(4.0)));
    return out;
  };
  const auto stopping = [] { return early_stopping({.monitor = "val_loss", .patience = 2, .restore_best = true}); };
  const Model<DroppingNet> whole = spoilt(1);
  const Outcome wanted = outcome(whole, whole.fit(data(), options({stopping()})));
  {
    const Model<DroppingNet> cut = spoilt(1);
    static_cast<void>(cut.fit(data(), options({stopping(), checkpoints(path(), {.every_epochs = 0, .every_steps = 10}),
                                               on_step_end([](Training& training) {
                                                 if (training.step() == 10) training.stop("the test cuts here");
                                               })})));
  }
  const Model<DroppingNet> again = spoilt(99);
  FitOptions on = options({stopping()});
  on.resume = path();
  expect_same(outcome(again, again.fit(data(), on)), wanted);
}

// Whichever of the two hears of an epoch first.
TEST_F(Resumed, KeepsTheBestWeightsOfTheEpochThatItWasWrittenIn) {
  const auto stopping = [] { return early_stopping({.patience = 9, .restore_best = true}); };
  struct Scripted {
    Variable weight{zeros({1})};
    [[nodiscard]] Tensor operator()(const Tensor& x) const { return x + weight.value(); }
  };
  const auto fitted = [&](std::int64_t end, Callbacks callbacks, const std::string& from) {
    // What is off by e goes to -2 e: the first epoch is the best.
    const Model<Scripted> model(Scripted{});
    model.compile(
        {.optimizer = sgd(1.5), .loss = [](const Tensor& outputs, const Tensor&) { return mean(square(outputs + 1.5)); }});
    static_cast<void>(model.fit(Dataset(std::tuple(zeros({2, 1}), zeros({2, 1}))).batch(2),
                                {.epochs = end, .callbacks = std::move(callbacks), .verbose = quiet, .resume = from}));
    return item<float>(model.net().weight.value());
  };
  const float wanted = fitted(3, {stopping()}, {});
  for (const bool is_first : {true, false}) {
    const auto both = [&] {
      Callbacks out{checkpoints(path()), stopping()};
      if (!is_first) std::swap(out[0], out[1]);
      return out;
    };
    EXPECT_EQ(fitted(1, both(), {}), wanted);
    EXPECT_EQ(fitted(3, both(), path()), wanted);
  }
}

TEST_F(Resumed, MakesNoFurtherStepWhereEarlyStoppingHadEndedIt) {
  const auto fitted = [&](const std::string& from) {
    const Model<DroppingNet> again = model(1);
    FitOptions on = options({early_stopping({.patience = 0, .least_change = 100}), checkpoints(path())});
    on.resume = from;
    return again.fit(data(), on);
  };
  const History first = fitted({});
  EXPECT_EQ(first.epochs(), 2);
  const History second = fitted(path());
  EXPECT_EQ(second.steps, first.steps);
  EXPECT_EQ(second.stopped, first.stopped);
}

TEST_F(Resumed, ChangesNothingWhereAFileIsRefused) {
  const auto refusal_of = [&](const Model<DroppingNet>& here, FitOptions on) -> std::string {
    const auto before = weights_of(here.net());
    on.resume = path();
    try {
      static_cast<void>(here.fit(data(), on));
    } catch (const FileError& error) {
      EXPECT_EQ(weights_of(here.net()), before);
      return error.what();
    }
    return "nothing was thrown";
  };
  const auto until_step_3 = on_step_end([](Training& training) {
    if (training.step() == 3) training.stop("the test cuts here");
  });
  const auto stopping = early_stopping({.restore_best = true});
  static_cast<void>(
      model(1).fit(data(), options({stopping, checkpoints(path(), {.every_epochs = 0, .every_steps = 3}), until_step_3})));
  set_seed(5);
  const Model<DroppingNet> other(DroppingNet{});
  CompileOptions compiled = classifier(adam(warmup_cosine(0.05, 5, 60)));
  compiled.metrics.clear();
  other.compile(compiled);
  EXPECT_THAT(refusal_of(other, options({stopping})), HasSubstr("a model of other replicas or metrics"));
  // The best weights are there once an epoch was.
  static_cast<void>(model(1).fit(data(), {.callbacks = {stopping, checkpoints(path())}, .verbose = quiet}));
  EXPECT_THAT(refusal_of(model(2), options({})), HasSubstr("give the callbacks that it was written with, in their order"));
}

TEST_F(Resumed, RefusesFilesThatAreNotOfThisTraining) {
  const Model<DroppingNet> model_here = model(1);
  static_cast<void>(model_here.fit(data(), {.callbacks = {checkpoints(path())}, .verbose = quiet}));
  const auto message = [&](const auto& call) -> std::string {
    try {
      call();
    } catch (const FileError& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  const auto before = weights_of(model_here.net());
  EXPECT_THAT(
      message([&] { static_cast<void>(model_here.fit(Dataset(regions(50)).batch(9), {.verbose = quiet, .resume = path()})); }),
      HasSubstr("its data set had 50 7 examples and batches, this one has 50 and 6"));
  set_seed(1);
  const Model<Net> other(Net{});
  other.compile(classifier());
  EXPECT_THAT(message([&] { static_cast<void>(other.fit(data(), {.verbose = quiet, .resume = path()})); }),
              HasSubstr("model.norm.bias"));
  save(path("plain"), model_here.net());
  EXPECT_THAT(message([&] { static_cast<void>(model_here.fit(data(), {.verbose = quiet, .resume = path("plain")})); }),
              HasSubstr("it has no fit.data"));
  EXPECT_THAT(message([&] { static_cast<void>(model_here.fit(data(), {.verbose = quiet, .resume = path("none")})); }),
              HasSubstr("none"));
  EXPECT_EQ(weights_of(model_here.net()), before);
}

TEST_F(Resumed, WritesOneFileAndLeavesNothingBeside) {
  const Model<DroppingNet> here = model(1);
  static_cast<void>(here.fit(data(), {.epochs = 2, .callbacks = {checkpoints(path(), {.every_steps = 2})}, .verbose = quiet}));
  EXPECT_EQ(files(), 1);
  const NamedTensors all = load_tensors(path());
  EXPECT_TRUE(all.contains("model.hidden.weight"));
  EXPECT_TRUE(all.contains("optimizer.step"));
}

}  // namespace
}  // namespace tutti::testing_fit
