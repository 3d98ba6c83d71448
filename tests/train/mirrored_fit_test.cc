// A model that fit trains over several devices learns as on one, has the same bits on each, and no step of it waits.
#include <gmock/gmock.h>

#include <deque>
#include <set>

#include "data/saved_files.h"
#include "streams/gate.h"
#include "train/fit_problems.h"
#include "tutti/exec/dispatch.h"

namespace tutti::testing_fit {
namespace {

using testing::HasSubstr;

class MirroredFit : public testing_data::SavedFiles, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    SavedFiles::SetUp();
    simulate_gpus(4, {.pinned_copies = true});
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
  for (const Verbosity verbose : {quiet, Verbosity::bar}) {
    std::ostringstream out;
    const std::uint64_t before = sync_counts().demand;
    std::uint64_t at_last_step = 0;
    const SyncScope strict(OnSync::error);
    const History history =
        model.fit(data(), {.epochs = 20,
                           .validation = others(),
                           .callbacks = {on_step_end([&](Training&) { at_last_step = sync_counts().demand; })},
                           .verbose = verbose,
                           .out = &out});
    EXPECT_EQ(at_last_step, before);
    EXPECT_EQ(out.str().empty(), verbose == quiet);
    EXPECT_EQ(history.steps, 140);
  }
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

// Running statistics are each replica's own, and validation reads them.
TEST_P(MirroredFit, GoesOnFromACheckpointWithTheSameBits) {
  const MirroredStrategy over = strategy();
  const auto fresh = [&](std::uint64_t seed) {
    set_seed(seed);
    Model<DroppingNet> out(over, [] { return DroppingNet{}; });
    // A replay holds the locks of all its variables, of which the thread sanitizer follows 64.
    out.compile(classifier(GetParam() < 4 ? OptimizerOf(adam(0.02)) : OptimizerOf(sgd(0.1))));
    return out;
  };
  const Model<DroppingNet> whole = fresh(1);
  const History wanted = whole.fit(data(), {.epochs = 3, .validation = others(), .verbose = quiet});
  for (const std::int64_t place : {3, 7, 12}) {
    SCOPED_TRACE(place);
    static_cast<void>(fresh(1).fit(data(), {.epochs = 3,
                                            .validation = others(),
                                            .callbacks = {checkpoints(path(), {.every_epochs = 0, .every_steps = place}),
                                                          on_step_end([&](Training& training) {
                                                            if (training.step() == place) training.stop("the test cuts here");
                                                          })},
                                            .verbose = quiet}));
    const Model<DroppingNet> again = fresh(2);
    const History history = again.fit(data(), {.epochs = 3, .validation = others(), .verbose = quiet, .resume = path()});
    EXPECT_EQ(history.values, wanted.values);
    EXPECT_EQ(all_weights(over, again.net()), all_weights(over, whole.net()));
  }
}

TEST_P(MirroredFit, GoesOnFromTheEndOfAnEpochOnOtherDevices) {
  const Model many(strategy(), [] { return DroppingNet{}; });
  many.compile(classifier());
  static_cast<void>(many.fit(data(), {.callbacks = {checkpoints(path())}, .verbose = quiet}));
  const Model one(DroppingNet{});
  one.compile(classifier());
  EXPECT_EQ(one.fit(data(), {.epochs = 2, .verbose = quiet, .resume = path()}).steps, 14);
  static_cast<void>(one.fit(data(), {.callbacks = {checkpoints(path())}, .verbose = quiet}));
  EXPECT_EQ(many.fit(data(), {.epochs = 1, .verbose = quiet, .resume = path()}).steps, 7);
  EXPECT_EQ(weights_of(many.net()), weights_of(one.net()));
}

// The parts of batches as they are sent to the GPUs.
class SentParts final : public Executor {
 public:
  void run(OpCall& call) override {
    const bool is_part = call.op.name == "_Copy" && call.pinned != nullptr && !call.pinned->is_cpu() && is_pinned(call.tensor(0));
    pass_on(call);
    if (is_part) parts.push_back(call.outputs[0]);
  }
  std::vector<Tensor> parts;
};

// The streams of the ops stand still behind the first step; the parts of the two batches after the next one arrive all the same.
TEST_P(MirroredFit, HasThePartsOfBatchesOnTheirDevicesBeforeTheirStepsAreSubmitted) {
  const MirroredStrategy over = strategy();
  const Model model(over, [] { return Net{}; });
  model.compile(classifier());
  SentParts sent;
  const ExecutorScope seen(sent);
  std::deque<testing_streams::Gate> gates(over.replicas());
  const auto look = on_step_end([&](Training& training) {
    for (std::size_t i = 0; i < gates.size() && training.step() == 1; ++i) static_cast<void>(gates[i].close(over.devices()[i]));
    if (training.step() != 2) return;
    for (const testing_streams::Gate& gate : gates) gate.await_entered();
    EXPECT_EQ(sent.parts.size(), 2 * 4 * over.replicas()) << "inputs and labels of four batches";
    for (const Tensor& part : sent.parts) part.sync({.timeout = std::chrono::seconds(30)});
    for (testing_streams::Gate& gate : gates) gate.open();
  });
  EXPECT_EQ(model.fit(data(), {.callbacks = {look}, .verbose = quiet}).steps, 7);
}

// And not on the first GPU, which may be none of the strategy's.
TEST_P(MirroredFit, MapsBatchesOnTheCpu) {
  const MirroredStrategy over = strategy();
  const Model model(over, [] { return Net{}; });
  model.compile(classifier());
  std::set<std::string> devices;
  const auto mapped = data().map([&](const std::tuple<Tensor, Tensor>& batch) {
    const Tensor half = std::get<0>(batch) / 2;
    devices.insert(half.device());
    return std::tuple(half, std::get<1>(batch));
  });
  static_cast<void>(model.fit(mapped, {.validation = mapped, .verbose = quiet}));
  EXPECT_THAT(devices, testing::ElementsAre(testing::EndsWith("CPU:0")));
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
