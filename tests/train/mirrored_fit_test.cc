// A model that fit trains over several devices learns as on one, has the same bits on each, and no step of it waits.
#include <gmock/gmock.h>

#include "data/saved_files.h"
#include "train/fit_problems.h"

namespace tutti::testing_fit {
namespace {

using testing::HasSubstr;

class MirroredFit : public testing_data::SavedFiles, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    SavedFiles::SetUp();
    simulate_gpus(4);
  }
  static MirroredStrategy strategy() {
    std::vector<std::string> devices;
    for (int i = 0; i < GetParam(); ++i) devices.push_back("GPU:" + std::to_string(i));
    return MirroredStrategy(devices);
  }
  // The last batch has two examples: of four replicas two have none.
  static auto data() { return Dataset(regions(50)).shuffle(3).batch(8); }
  static auto others() { return Dataset(regions(21, 6)).batch(8); }

  // Of every replica.
  template <class Net>
  static std::vector<std::vector<std::vector<float>>> all_weights(const MirroredStrategy& strategy, const Net& net) {
    std::vector<std::vector<std::vector<float>>> out(strategy.replicas());
    for (const auto& [name, variable] : named_variables(net)) {
      const auto values = strategy.run([&v = variable] { return v.value(); });
      for (std::size_t i = 0; i < out.size(); ++i) out[i].push_back(read<float>(values[i]));
    }
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(On, MirroredFit, testing::Values(1, 2, 4), [](const auto& info) { return std::to_string(info.param); });

TEST_P(MirroredFit, LearnsAsOnOneDeviceWithTheSameBitsOnEach) {
  for (const bool is_adam : {false, true}) {
    const auto how = classifier(is_adam ? adam(0.02) : sgd(0.1, {.momentum = 0.9}));
    const FitOptions options{.epochs = 3, .validation = others(), .verbose = quiet};
    set_seed(1);
    const Model alone(Net{});
    alone.compile(how);
    const History wanted = alone.fit(data(), options);
    const MirroredStrategy over = strategy();
    set_seed(1);
    const Model mirrored(over, [] { return Net{}; });
    mirrored.compile(how);
    const History history = mirrored.fit(data(), options);
    const auto all = all_weights(over, mirrored.net());
    for (const auto& each : all) EXPECT_EQ(each, all[0]) << "the replicas differ";
    const auto expected = weights_of(alone.net());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      for (std::size_t k = 0; k < expected[i].size(); ++k) EXPECT_NEAR(all[0][i][k], expected[i][k], 2e-4F) << i << ' ' << k;
    }
    for (const auto& [name, values] : wanted.values) {
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(history.at(name)[i], values[i], 1e-4) << name;
    }
    const auto judged = mirrored.evaluate(others());
    EXPECT_NEAR(judged.at("loss"), history.at("val_loss").back(), 1e-6);
    EXPECT_EQ(mirrored.predict(std::get<0>(regions(9))).shape(), (Shape{9, 3}));
  }
}

TEST_P(MirroredFit, MakesNoDemandSyncInAnyStepOfAnyThread) {
  const MirroredStrategy over = strategy();
  const Model model(over, [] { return Net{}; });
  model.compile(classifier());
  static_cast<void>(model.fit(data(), {.verbose = quiet}));
  const std::uint64_t before = sync_counts().demand;
  std::uint64_t at_last_step = 0;
  const SyncScope strict(OnSync::error);
  const History history = model.fit(data(), {.epochs = 20,
                                             .validation = others(),
                                             .callbacks = {on_step_end([&](Training&) { at_last_step = sync_counts().demand; })},
                                             .verbose = quiet});
  EXPECT_EQ(at_last_step, before);
  EXPECT_EQ(history.steps, 140);
}

TEST_P(MirroredFit, ReplaysTheStepsOfAllReplicasAsOne) {
  const auto calls = std::make_shared<int>(0);
  struct Counting {
    Dense layer;
    std::shared_ptr<int> calls;
    [[nodiscard]] Tensor operator()(const Tensor& x) const {
      ++*calls;
      return layer(x);
    }
  };
  std::vector<std::string> lines;
  const MirroredStrategy over = strategy();
  set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  const Model model(over, [&] { return Counting{Dense(2, 3), calls}; });
  model.compile(classifier());
  static_cast<void>(model.fit(data(), {.epochs = 5, .verbose = quiet}));
  set_log_sink({});
  EXPECT_EQ(*calls, GetParam() == 4 ? 4 + 2 : 2 * GetParam()) << "once for each replica that has examples, and batch size";
  EXPECT_THAT(lines, testing::IsEmpty());
}

TEST_P(MirroredFit, GoesOnFromACheckpointWithTheSameBits) {
  struct Dropping {
    Dense hidden{2, 16};
    Dropout drop{0.3};
    Dense out{16, 3};
    [[nodiscard]] Tensor operator()(const Tensor& x) const { return out(drop(relu(hidden(x)))); }
  };
  const MirroredStrategy over = strategy();
  const auto fresh = [&](std::uint64_t seed) {
    set_seed(seed);
    Model<Dropping> out(over, [] { return Dropping{}; });
    out.compile(classifier(adam(0.02)));
    return out;
  };
  const Model<Dropping> whole = fresh(1);
  const History wanted = whole.fit(data(), {.epochs = 3, .verbose = quiet});
  for (const std::int64_t place : {3, 7, 12}) {
    SCOPED_TRACE(place);
    static_cast<void>(fresh(1).fit(data(), {.epochs = 3,
                                            .callbacks = {checkpoints(path(), {.every_epochs = 0, .every_steps = place}),
                                                          on_step_end([&](Training& training) {
                                                            if (training.step() == place) training.stop("the test cuts here");
                                                          })},
                                            .verbose = quiet}));
    const Model<Dropping> again = fresh(2);
    const History history = again.fit(data(), {.epochs = 3, .verbose = quiet, .resume = path()});
    EXPECT_EQ(history.values, wanted.values);
    EXPECT_EQ(all_weights(over, again.net()), all_weights(over, whole.net()));
  }
}

TEST_P(MirroredFit, AsksForTheStrategyOfMirroredVariables) {
  const MirroredStrategy over = strategy();
  if (GetParam() == 1) GTEST_SKIP() << "one cell is as any other";
  const MirroredStrategy::Scope in(over);
  try {
    const Model model(Net{});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("give the model their strategy"));
  }
}

}  // namespace
}  // namespace tutti::testing_fit
