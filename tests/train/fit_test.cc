// fit does what a loop written by hand does, step by step, and no step of it makes the host wait.
#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <map>

#include "streams/gate.h"
#include "train/fit_problems.h"
#include "tutti/journal/journal.h"

namespace tutti::testing_fit {
namespace {

using testing::HasSubstr;

// The loop that fit is compared with.
template <class MakeOptimizer>
std::vector<double> train_by_hand(const Net& net, const MakeOptimizer& make, std::int64_t epochs, const std::string& device) {
  const DeviceScope there(device);
  auto optimizer = make(parameters(net), {});
  const auto data = Dataset(regions(50)).shuffle(3).batch(8);
  std::vector<double> losses;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    double sum_of_losses = 0;
    for (const auto& [x, y] : data.epoch(epoch)) {
      const Tensor on_device = copy_to(x, device);
      const Tensor labels = copy_to(y, device);
      const auto [loss, grads] = value_and_grad([&](const Net& model) { return cross_entropy(model(on_device), labels); })(net);
      optimizer->update(grads);
      sum_of_losses += static_cast<double>(item<float>(loss)) * static_cast<double>(x.shape()[0]);
    }
    losses.push_back(sum_of_losses / 50);
  }
  return losses;
}

class Fits : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (GetParam() > 0) simulate_gpus(static_cast<unsigned>(GetParam()));
    set_seed(1);
  }
  [[nodiscard]] static std::string device() { return GetParam() > 0 ? "GPU:0" : "CPU:0"; }
};
INSTANTIATE_TEST_SUITE_P(On, Fits, testing::Values(0, 1),
                         [](const auto& info) { return info.param == 0 ? std::string("cpu") : std::string("sim"); });

TEST_P(Fits, GivesTheBitsOfALoopWrittenByHand) {
  for (const bool is_adam : {false, true}) {
    const Net by_hand;
    const Net fitted;
    for (std::size_t i = 0; i < parameters(by_hand).size(); ++i) parameters(fitted)[i].assign(parameters(by_hand)[i].value());
    const std::vector<double> losses = train_by_hand(by_hand, is_adam ? adam(0.02) : sgd(0.1, {.momentum = 0.9}), 3, device());
    const Model model(fitted);
    model.compile(classifier(is_adam ? adam(0.02) : sgd(0.1, {.momentum = 0.9})));
    const History history = model.fit(Dataset(regions(50)).shuffle(3).batch(8), {.epochs = 3, .verbose = quiet});
    EXPECT_EQ(weights_of(fitted), weights_of(by_hand));
    ASSERT_EQ(history.epochs(), 3);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(history.at("loss")[i], losses[i], 1e-6) << i;
    EXPECT_EQ(history.steps, 21);
    EXPECT_FALSE(history.was_interrupted);
    EXPECT_EQ(history.stopped, "");
  }
}

TEST_P(Fits, MakesNoDemandSyncInAnyStepOfAnyThread) {
  const auto data = Dataset(regions(200)).shuffle(3).batch(16);
  for (const Verbosity verbose : {quiet, Verbosity::bar}) {
    std::ostringstream out;
    const Model model(Net{});
    model.compile(classifier(adam(0.02)));
    static_cast<void>(model.fit(data, {.verbose = quiet}));
    const std::uint64_t before = sync_counts().demand;
    std::uint64_t at_last_step = 0;
    const SyncScope strict(OnSync::error);
    const History history = model.fit(data, {.epochs = 31,
                                             .first_epoch = 1,
                                             .validation = Dataset(regions(50, 6)).batch(16),
                                             .callbacks = {on_step_end([&](Training&) { at_last_step = sync_counts().demand; })},
                                             .verbose = verbose,
                                             .out = &out});
    EXPECT_EQ(at_last_step, before) << "390 steps and 29 validations";
    EXPECT_LE(sync_counts().demand, before + 31) << "what had not come by itself, when all was submitted";
    EXPECT_EQ(out.str().empty(), verbose == quiet);
    EXPECT_EQ(history.epochs(), 30);
    EXPECT_GT(history.at("accuracy").back(), 0.85);
    EXPECT_GT(history.at("val_accuracy").back(), 0.85);
  }
}

TEST_P(Fits, WaitsOnceAnEpochWhereACallbackReadsItsValues) {
  const Model model(Net{});
  model.compile(classifier());
  const auto data = Dataset(regions(100)).batch(10);
  std::vector<double> seen;
  const std::uint64_t before = sync_counts().demand;
  const History history = model.fit(data, {.epochs = 5,
                                           .validation = Dataset(regions(20, 6)).batch(10),
                                           .callbacks = {on_epoch_end([&](Training& training) {
                                             EXPECT_EQ(training.epoch(), static_cast<std::int64_t>(seen.size()));
                                             EXPECT_EQ(training.values().at("loss"), training.history().at("loss").back());
                                             seen.push_back(training.values().at("val_loss"));
                                           })},
                                           .verbose = quiet});
  EXPECT_EQ(sync_counts().demand, before + 5);
  EXPECT_EQ(seen, history.at("val_loss"));
  for (const SyncTotals& each : sync_totals()) {
    if (each.reason == SyncReason::value_read && each.allowed > 0) {
      EXPECT_EQ(each.allowed_because, "fit reads the values of an epoch");
    }
  }
}

TEST_P(Fits, WeighsASmallerLastBatchByItsExamples) {
  const Model model(Net{});
  // The rate is so small that no weight changes: all epochs and evaluate() then see the same network.
  model.compile({.optimizer = sgd(1e-30),
                 .loss = cross_entropy,
                 .metrics = {accuracy(), {"each", [](const Tensor& outputs, const Tensor& labels) {
                                            return cross_entropy(outputs, labels, {.reduction = LossReduction::none});
                                          }}}});
  const auto examples = regions(23);
  const auto whole = model.evaluate(Dataset(examples).batch(23));
  const auto parts = model.evaluate(Dataset(examples).batch(5));
  const History history = model.fit(Dataset(examples).shuffle(2).batch(4), {.verbose = quiet});
  for (const char* name : {"loss", "accuracy", "each"}) {
    EXPECT_NEAR(parts.at(name), whole.at(name), 1e-6) << name;
    EXPECT_NEAR(history.at(name)[0], whole.at(name), 1e-6) << name;
  }
  EXPECT_NEAR(whole.at("each"), whole.at("loss"), 1e-6);
  const auto& [x, y] = examples;
  EXPECT_NEAR(whole.at("accuracy"), static_cast<double>(item<float>(mean(cast(equal(argmax(model.net()(x), 1), y), DType::f32)))),
              1e-6);
}

TEST_P(Fits, EvaluatesAndPredictsAsAfterTraining) {
  const Model model(DroppingNet{});
  model.compile(classifier());
  static_cast<void>(model.fit(Dataset(regions(64)).batch(16), {.epochs = 2, .verbose = quiet}));
  const auto [x, y] = regions(37, 9);
  const Tensor predicted = model.predict(x, {.batch = 8});
  const Tensor wanted = [&] {
    const DeviceScope there(device());
    const Evaluation mode;
    return model.net()(x);
  }();
  EXPECT_EQ(predicted.shape(), (Shape{37, 3}));
  const std::vector<float> found = read<float>(predicted);
  const std::vector<float> expected = read<float>(wanted);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5F);
  EXPECT_EQ(found, read<float>(model.predict(x, {.batch = 8}))) << "nothing is dropped";
  const auto once = model.evaluate(Dataset(std::tuple(x, y)).batch(8));
  EXPECT_EQ(once, model.evaluate(Dataset(std::tuple(x, y)).batch(8)));
  EXPECT_NEAR(once.at("loss"), static_cast<double>(item<float>(cross_entropy(wanted, copy_to(y, device())))), 1e-5);
  const std::uint64_t before = sync_counts().demand;
  static_cast<void>(model.predict(x, {.batch = 8}));
  EXPECT_EQ(sync_counts().demand, before);
  static_cast<void>(model.evaluate(Dataset(std::tuple(x, y)).batch(8)));
  EXPECT_EQ(sync_counts().demand, before + 1) << "the result";
}

struct Asking {
  Dense layer{2, 3};
  std::shared_ptr<int> calls = std::make_shared<int>(0);
  [[nodiscard]] Tensor operator()(const Tensor& x) const {
    ++*calls;
    return layer(x);
  }
  template <class Visit>
  void each_member(Visit&& visit) const {
    visit("layer", layer);
  }
};

TEST_P(Fits, ReplaysItsStepsAndRunsThemOpByOpWhereItMust) {
  struct Reading {
    Dense layer{2, 3};
    [[nodiscard]] Tensor operator()(const Tensor& x) const {
      const AllowSync meant("the test looks at the first element");
      return layer(x) * (item<float>(sum(x)) > 1e9F ? 2 : 1);
    }
  };
  const Model captured(Asking{});
  captured.compile(classifier());
  static_cast<void>(captured.fit(Dataset(regions(50)).batch(8), {.epochs = 4, .verbose = quiet}));
  EXPECT_EQ(*captured.net().calls, 2) << "once for whole batches, once for the last";

  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  const Model refused(Reading{});
  refused.compile(classifier());
  const History history = refused.fit(Dataset(regions(50)).batch(8), {.epochs = 4, .verbose = quiet});
  set_log_sink({});
  EXPECT_EQ(history.steps, 28);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_THAT(lines[0], HasSubstr("the step of fit runs op by op, since it cannot be captured"));
  EXPECT_THAT(lines[0], HasSubstr("fit_test.cc"));
}

TEST(Fit, AsksForCompileAgainWhereWhatLearnsHasChanged) {
  const Model model(Net{});
  model.compile(classifier());
  const auto fit = [&] { static_cast<void>(model.fit(Dataset(regions(64)).batch(16), {.verbose = quiet})); };
  fit();
  freeze(model.net().hidden);
  const std::vector<float> kept = read<float>(model.net().hidden.weight.value());
  try {
    fit();
    ADD_FAILURE() << "what is frozen would have learnt";
  } catch (const InvalidState& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"hidden.weight\" no longer learns")) << error.what();
  }
  model.compile(classifier());
  fit();
  EXPECT_EQ(read<float>(model.net().hidden.weight.value()), kept);
  freeze(model.net().hidden, false);
  EXPECT_THROW(fit(), InvalidState);
}

TEST(Fit, TakesDataToTheDeviceOfItsModelAheadOfTime) {
  simulate_gpus(2);
  std::optional<Model<Net>> model;
  {
    const DeviceScope there("GPU:1");
    model.emplace(Net{});
  }
  model->compile(classifier());
  std::vector<std::string> seen;
  const auto data = Dataset(regions(20)).batch(10).map([&](const std::tuple<Tensor, Tensor>& batch) {
    seen.push_back(std::get<0>(batch).device());
    return batch;
  });
  static_cast<void>(model->fit(data, {.verbose = quiet}));
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_THAT(seen[0], HasSubstr("GPU:1"));
}

// The first step's stream stands still behind it; the two batches after the next one arrive all the same.
TEST(Fit, HasBatchesOnTheDeviceBeforeTheirStepsAreSubmitted) {
  simulate_gpus(1, {.pinned_copies = true});
  const Model model(Net{});
  model.compile(classifier());
  std::vector<std::tuple<Tensor, Tensor>> made;
  const auto data =
      Dataset(regions(60)).batch(10).map([&](const std::tuple<Tensor, Tensor>& batch) { return made.emplace_back(batch); });
  testing_streams::Gate gate;
  const auto look = on_step_end([&](Training& training) {
    if (training.step() == 1) static_cast<void>(gate.close("GPU:0"));
    if (training.step() != 2) return;
    gate.await_entered();
    ASSERT_EQ(made.size(), 4U);
    for (const auto& [x, y] : made) {
      x.sync({.timeout = std::chrono::seconds(30)});
      y.sync({.timeout = std::chrono::seconds(30)});
    }
    gate.open();
  });
  EXPECT_EQ(model.fit(data, {.callbacks = {look}, .verbose = quiet}).steps, 6);
  for (const SyncTotals& each : sync_totals()) EXPECT_NE(each.reason, SyncReason::pageable_staging) << each.site.to_string();
}

// A batch crosses once, and the replay reads it where it then is: what is copied on the stream of the steps is sums for the host.
TEST(Fit, ReplaysTakeTheMemoryOfPrefetchedBatches) {
  simulate_gpus(1);
  const Model model(Net{});
  model.compile(classifier());
  const auto data = Dataset(regions(384)).batch(8);
  static_cast<void>(model.fit(data, {.verbose = quiet}));
  journal::start();
  const std::int64_t steps = model.fit(data, {.verbose = quiet}).steps;
  sync_devices();
  journal::stop();
  std::map<StreamId, std::map<std::string, std::int64_t>> ran;
  const journal::Recording recording = journal::snapshot();
  for (const journal::ThreadEvents& thread : recording.threads) {
    for (const journal::Event& event : thread.events) {
      if (event.kind == journal::EventKind::run) ++ran[event.stream][event.name];
    }
  }
  std::int64_t prefetched = 0;
  for (const journal::StreamName& each : recording.streams) {
    std::map<std::string, std::int64_t>& here = ran[each.stream];
    if (here["replay"] > 0) {
      EXPECT_EQ(here["replay"], steps);
      EXPECT_GT(here["FusedMatMul"], 0) << "kernels in a replay are seen too";
      EXPECT_LT(here["_Copy"], steps);
    } else if (each.name.starts_with("GPU:0")) {
      prefetched += here["_Copy"];
    }
  }
  EXPECT_EQ(prefetched, 2 * steps) << "inputs and labels";
}

TEST(Fit, TakesNetworksOfSeveralInputsAndChains) {
  struct Two {
    Dense left{2, 1};
    Dense right{3, 1};
    [[nodiscard]] Tensor operator()(const Tensor& a, const Tensor& b) const { return left(a) + right(b); }
  };
  const Model two(Two{});
  two.compile({.optimizer = adam(0.1), .loss = mse_loss, .metrics = {mean_absolute_error()}});
  const Tensor a = normal({32, 2}, {.key = 1});
  const Tensor b = normal({32, 3}, {.key = 2});
  const Tensor y = sum(a, 1, {.keepdims = true}) - sum(b, 1, {.keepdims = true});
  const History history = two.fit(Dataset(std::tuple(a, b, y)).batch(8), {.epochs = 60, .verbose = quiet});
  EXPECT_LT(history.at("mean_absolute_error").back(), 0.05);
  EXPECT_EQ(two.predict(std::tuple(a, b)).shape(), (Shape{32, 1}));

  const Model chain(Sequential(
      Dense(2, 8), [](const Tensor& x) { return relu(x); }, Dense(8, 1)));
  chain.compile({.optimizer = sgd(0.1), .loss = binary_cross_entropy, .metrics = {binary_accuracy()}});
  const Tensor side = cast(greater(sum(a, 1, {.keepdims = true}), 0), DType::f32);
  EXPECT_GT(chain.fit(Dataset(std::tuple(a, side)).batch(8), {.epochs = 40, .verbose = quiet}).at("binary_accuracy").back(), 0.9);
}

TEST(Fit, SaysWhatIsMissingOrDoesNotFit) {
  const Model model(Net{});
  const auto data = Dataset(regions(10)).batch(5);
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(message([&] { static_cast<void>(model.fit(data)); }), HasSubstr("fit: the model was not compiled"));
  EXPECT_THROW(static_cast<void>(model.evaluate(data)), InvalidState);
  EXPECT_THAT(message([&] { model.compile({.optimizer = {}, .loss = mse_loss}); }), HasSubstr("an optimizer is needed"));
  EXPECT_THAT(message([&] { model.compile({.optimizer = sgd(0.1), .loss = {}}); }), HasSubstr("a loss is needed"));
  EXPECT_THAT(message([&] {
                model.compile({.optimizer = sgd(0.1), .loss = mse_loss, .metrics = {accuracy(), accuracy()}});
              }),
              HasSubstr("\"accuracy\""));
  EXPECT_THAT(
      message([&] {
        model.compile({.optimizer = sgd(0.1), .loss = mse_loss, .metrics = {{"val_loss", mean_absolute_error().function}}});
      }),
      HasSubstr("what the value of validation data would be called"));
  model.compile(classifier());
  const auto none = Dataset(std::tuple(zeros({0, 2}), zeros({0}, DType::i64))).batch(4);
  EXPECT_THAT(message([&] { static_cast<void>(model.fit(none)); }), HasSubstr("the data set has no batches"));
  const auto wide = Dataset(std::tuple(zeros({4, 5}), zeros({4}, DType::i64))).batch(4);
  EXPECT_THAT(message([&] { static_cast<void>(model.fit(wide)); }),
              testing::AllOf(HasSubstr("the model was called with float32 (4, 5)"), HasSubstr("Dense"), HasSubstr("2 inputs"),
                             HasSubstr("fit_problems.h")));
  model.compile({.optimizer = sgd(0.1), .loss = mse_loss});
  EXPECT_THAT(message([&] { static_cast<void>(model.fit(data)); }),
              testing::AllOf(HasSubstr("the loss of outputs and targets"), HasSubstr("mse_loss"), HasSubstr("(5, 3)")));
  model.compile({.optimizer = sgd(0.1), .loss = [](const Tensor& outputs, const Tensor&) { return outputs; }});
  EXPECT_THAT(message([&] { static_cast<void>(model.fit(data)); }), HasSubstr("the loss must be one number"));
  model.compile({.optimizer = sgd(0.1), .loss = cross_entropy, .metrics = {binary_accuracy()}});
  EXPECT_THAT(message([&] { static_cast<void>(model.fit(data)); }), HasSubstr("the metric binary_accuracy"));
  model.compile(classifier());
  EXPECT_THAT(message([&] { static_cast<void>(model.fit(data, {.epochs = 1, .first_epoch = 2})); }), HasSubstr("1 epochs"));
  EXPECT_EQ(model.fit(data, {.epochs = 2, .verbose = quiet}).steps, 4) << "and works afterwards";
  EXPECT_THROW(static_cast<void>(model.predict(zeros({0, 2}))), ShapeError);
  EXPECT_THROW(static_cast<void>(model.predict(zeros({3, 2}), {.batch = 0})), InvalidArgument);
  EXPECT_THAT(message([&] { static_cast<void>(History{}.at("loss")); }), HasSubstr("no epoch was finished"));
  struct Nothing {
    [[nodiscard]] Tensor operator()(const Tensor& x) const { return x; }
  };
  EXPECT_THROW(Model(Nothing{}), InvalidArgument);
}

TEST(Fit, TellsOnceThatTheLossIsNotFiniteAndGoesOnOrStops) {
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  for (const bool stops : {false, true}) {
    lines.clear();
    const Model model(Net{});
    model.compile(
        {.optimizer = sgd(0.1), .loss = [](const Tensor& outputs, const Tensor&) { return mean(log(outputs * 0 - 1)); }});
    const History history =
        model.fit(Dataset(regions(40)).batch(4),
                  {.epochs = 3, .callbacks = {on_epoch_end([](Training&) {})}, .verbose = quiet, .stop_at_nan = stops});
    EXPECT_EQ(lines.size(), 1U);
    EXPECT_THAT(lines.at(0), HasSubstr("the loss is nan in epoch 1"));
    EXPECT_EQ(history.stopped, stops ? "the loss is nan" : "");
    if (stops) {
      EXPECT_LE(history.steps, 10);
    } else {
      EXPECT_EQ(history.steps, 30);
      EXPECT_TRUE(std::isnan(history.at("loss")[0]));
    }
  }
  set_log_sink({});
}

TEST(Fit, LetsAFailureOfADeviceOutWithItsLine) {
  simulate_gpus(1);
  const Model model(Net{});
  model.compile(classifier());
  const auto [x, y] = regions(16);
  try {
    static_cast<void>(model.fit(Dataset(std::tuple(x, y + 7)).batch(4), {.epochs = 2, .verbose = quiet}));
    FAIL() << "labels that are no class";
  } catch (const AsyncError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cross_entropy"));
  }
}

}  // namespace
}  // namespace tutti::testing_fit
