// fit over processes: all make the same steps, with the values of one process; they stop together and go on together.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "processes/job.h"
#include "train/fit_problems.h"
#include "tutti/journal/journal.h"

namespace tutti {

namespace {

using namespace testing_processes;
using testing_fit::classifier;
using testing_fit::regions;
using Weights = std::vector<std::vector<float>>;

// Of two replicas the last batch leaves one without a row.
auto data() { return Dataset(regions(49)).shuffle(3).batch(8); }
auto others() { return Dataset(regions(21, 6)).batch(8); }

MirroredStrategy over_all() { return MirroredStrategy(create_distributed_mesh({{"replica", -1}}, {"GPU:0"})); }

FitOptions options(Callbacks callbacks = {}) {
  return {.epochs = 3, .validation = others(), .callbacks = std::move(callbacks), .verbose = Verbosity::quiet};
}

template <class T>
void require_same_everywhere(const MirroredStrategy& strategy, const std::vector<T>& values, const std::string& what) {
  const Tensor own = constant(values);
  const auto reduced = [&](Reduction reduction) { return read<T>(all_reduce({own}, strategy.mesh(), "replica", reduction)[0]); };
  require(reduced(Reduction::max) == values && reduced(Reduction::min) == values, what + " are not the same in every process");
}

// The running statistics too, which are each process's own.
template <class Net>
Weights all_values(const MirroredStrategy& strategy, const Net& net) {
  Weights out;
  for (const auto& [name, variable] : named_variables(net))
    out.push_back(read<float>(strategy.run([&v = variable] { return v.value(); })[0]));
  return out;
}

std::int64_t recorded_roll_calls() {
  std::int64_t out = 0;
  for (const journal::ThreadEvents& thread : journal::snapshot().threads) {
    for (const journal::Event& event : thread.events) out += event.kind == journal::EventKind::roll_call ? 1 : 0;
  }
  return out;
}

// A file that all processes of the job see.
class CheckpointFile {
 public:
  CheckpointFile() { std::filesystem::remove(path); }
  ~CheckpointFile() { std::filesystem::remove(path); }
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;
  const std::string path = testing::TempDir() + "fit_over_processes_" + std::to_string(::getpid()) + ".safetensors";
};

}  // namespace

TEST(FitOverProcesses, GivesTheWeightsAndMetricsOfOneProcess) {
  Job job(2, [](int) {
    simulate_gpus(1);
    set_seed(1);
    const Model alone(testing_fit::Net{});
    alone.compile(classifier(adam(0.02)));
    const History wanted = alone.fit(data(), options());
    const auto judged_alone = alone.evaluate(others());
    const MirroredStrategy strategy = over_all();
    set_seed(1);
    const Model model(strategy, [] { return testing_fit::Net{}; });
    model.compile(classifier(adam(0.02)));
    const History history = model.fit(data(), options());
    const Weights weights = all_values(strategy, model.net());
    const Weights expected = testing_fit::weights_of(alone.net());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      require_same_everywhere(strategy, weights[i], "weights");
      for (std::size_t k = 0; k < expected[i].size(); ++k)
        require(std::abs(weights[i][k] - expected[i][k]) < 2e-4F, "a weight is another than in one process");
    }
    require(history.steps == wanted.steps && history.epochs() == 3, "the steps");
    for (const auto& [name, values] : wanted.values) {
      require_same_everywhere(strategy, history.at(name), name);
      for (std::size_t i = 0; i < values.size(); ++i)
        require(std::abs(history.at(name)[i] - values[i]) < 1e-4, name + " is another than in one process");
    }
    require(std::abs(model.evaluate(others()).at("loss") - judged_alone.at("loss")) < 1e-4, "evaluate");
  });
  job.expect_success();
}

// One roll call in each step, for the gradients; one for the sums of an epoch, one for those of its validation; one for Ctrl-C.
TEST(FitOverProcesses, MakesNoDemandSyncInItsStepsAndOneRollCallInEach) {
  Job job(2, [](int) {
    simulate_gpus(1);
    const MirroredStrategy strategy = over_all();
    const Model model(strategy, [] { return testing_fit::Net{}; });
    model.compile(classifier(adam(0.02)));
    static_cast<void>(model.fit(data(), options()));
    for (const Verbosity verbose : {Verbosity::quiet, Verbosity::bar}) {
      std::ostringstream out;
      const std::uint64_t before = sync_counts().demand;
      std::uint64_t at_last_step = 0;
      FitOptions how = options({on_step_end([&](Training&) { at_last_step = sync_counts().demand; })});
      how.verbose = verbose;
      how.out = &out;
      journal::start();
      const History history = [&] {
        const SyncScope strict(OnSync::error);
        return model.fit(data(), how);
      }();
      journal::stop();
      require(history.steps == 21, "the steps");
      require(at_last_step == before, "demand syncs in the steps: " + std::to_string(at_last_step - before));
      const std::int64_t expected = 1 + history.steps + 2 * history.epochs();
      require(recorded_roll_calls() == expected, "roll calls: " + std::to_string(recorded_roll_calls()));
      require(out.str().empty() == (verbose == Verbosity::quiet), "a bar");
    }
  });
  job.expect_success();
}

// The rows of one process make the loss a NaN from the first step on; the others hear of it in the sum of all.
TEST(FitOverProcesses, StopsAtANanInAllOfThemAfterTheSameStep) {
  Job job(2, [](int) {
    simulate_gpus(1);
    const MirroredStrategy strategy = over_all();
    set_seed(1);
    const Model model(strategy, [] { return testing_fit::Net{}; });
    model.compile({.optimizer = sgd(0.0), .loss = [](const Tensor& outputs, const Tensor& targets) {
                     return mean(stop_gradient(targets)) + 0 * mean(outputs);
                   }});
    std::vector<float> targets(2'000, 1);
    for (std::size_t i = 1; i < targets.size(); i += 2) targets[i] = std::numeric_limits<float>::quiet_NaN();
    const auto rows = Dataset(std::tuple(ones({2'000, 2}), constant(targets))).batch(2);
    const History history = model.fit(rows, {.epochs = 3, .verbose = Verbosity::quiet, .stop_at_nan = true});
    require(history.stopped == "the loss is nan", "it stopped because '" + history.stopped + "'");
    require(history.steps == 1'000 && history.epochs() == 1, "it stopped after step " + std::to_string(history.steps));
  });
  job.expect_success();
}

// Batches of one row, all of which the first process has.
TEST(FitOverProcesses, TellsNoValuesOfAProcessThatHadNoExamples) {
  Job job(2, [](int rank) {
    simulate_gpus(1);
    const MirroredStrategy strategy = over_all();
    const Model model(strategy, [] { return testing_fit::Net{}; });
    model.compile(classifier());
    std::size_t told = 0;
    const auto look = on_step_end([&](Training& training) {
      sync_devices();  // so that what was asked for is there at the next step
      told += training.values().size();
      for (const auto& [name, value] : training.values()) require(std::isfinite(value), name + " is not finite");
    });
    static_cast<void>(model.fit(Dataset(regions(60)).batch(1), {.callbacks = {look}, .verbose = Verbosity::quiet}));
    require((told > 0) == (rank == 0), "values were told " + std::to_string(told) + " times");
  });
  job.expect_success();
}

TEST(FitOverProcesses, GoesOnFromACheckpointOfTheFirstWithTheSameBits) {
  const CheckpointFile file;
  Job job(2, [&](int rank) {
    simulate_gpus(1);
    const MirroredStrategy strategy = over_all();
    const auto fresh = [&](std::uint64_t seed) {
      set_seed(seed);
      Model<testing_fit::DroppingNet> out(strategy, [] { return testing_fit::DroppingNet{}; });
      out.compile(classifier(adam(0.02)));
      return out;
    };
    for (const bool is_one_seed : {true, false}) {
      const auto seed = static_cast<std::uint64_t>(is_one_seed ? 1 : 1 + rank);
      const auto whole = fresh(seed);
      const History wanted = whole.fit(data(), options());
      for (const std::int64_t place : {4, 7}) {
        const auto cut = fresh(seed);
        const Callbacks cutting{checkpoints(file.path, {.every_epochs = 0, .every_steps = place}),
                                on_step_end([&](Training& training) {
                                  if (training.step() == place) training.stop("the test cuts here");
                                })};
        static_cast<void>(cut.fit(data(), options(cutting)));
        barrier(strategy.mesh(), {.timeout = 60s});  // the file is there
        const auto again = fresh(77);
        FitOptions on = options();
        on.resume = file.path;
        const History history = again.fit(data(), on);
        require(history.values == wanted.values, "other values after a resumption from step " + std::to_string(place));
        require(all_values(strategy, again.net()) == all_values(strategy, whole.net()),
                "other bits after a resumption from step " + std::to_string(place));
        barrier(strategy.mesh(), {.timeout = 60s});  // nobody reads it any more
      }
    }
  });
  job.expect_success();
}

}  // namespace tutti
