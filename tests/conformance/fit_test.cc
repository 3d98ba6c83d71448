// A model that fit trains on each backend, alone and mirrored: it learns, and no thread of the process waits on demand in its
// steps.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <tuple>

#include "conformance/backend.h"

namespace tutti::conformance {
namespace {

struct FittedNet {
  Dense hidden{2, 16};
  BatchNorm norm{16};
  Dropout drop{0.1};
  Dense out{16, 3};
  [[nodiscard]] Tensor operator()(const Tensor& x) const { return out(drop(norm(relu(hidden(x))))); }
};

std::tuple<Tensor, Tensor> three_regions(std::int64_t examples, std::uint64_t key) {
  const DeviceScope here("CPU:0");
  const Tensor x = normal({examples, 2}, {.key = key});
  return {x, argmax(matmul(x, constant({{1.F, -1.F, 0.F}, {0.F, 1.F, -1.F}})), 1)};
}

class Fitting : public OnBackend {
 protected:
  static void expect_no_demand(const Model<FittedNet>& model, const FitOptions& given) {
    const auto data = Dataset(three_regions(220, 5)).shuffle(3).batch(8);
    model.compile({.optimizer = adam(0.02), .loss = cross_entropy, .metrics = {accuracy()}});
    std::ostringstream out;
    FitOptions options = given;
    options.validation = Dataset(three_regions(50, 6)).batch(16);
    options.out = &out;
    std::uint64_t at_last_step = 0;
    options.callbacks.push_back(on_step_end([&](Training&) { at_last_step = sync_counts().demand; }));
    const SyncScope strict(OnSync::error);
    for (const Verbosity verbose : {Verbosity::quiet, Verbosity::bar}) {
      options.verbose = verbose;
      const std::uint64_t before = sync_counts().demand;
      const History history = model.fit(data, options);
      EXPECT_EQ(history.steps, options.epochs * 28);
      EXPECT_EQ(at_last_step, before) << "demand syncs of all threads, from the first capture to the last step";
      EXPECT_LE(sync_counts().demand, before + static_cast<std::uint64_t>(options.epochs) + 1) << "for the values at the end";
      EXPECT_GT(history.at("accuracy").back(), 0.6);
      EXPECT_GT(history.at("val_accuracy").back(), 0.6);
    }
    EXPECT_NE(out.str(), "") << "a bar, the second time";
  }
};

TEST_P(Fitting, MakesNoDemandSyncInTheWholeProcess) {
  set_seed(1);
  expect_no_demand(Model(FittedNet{}), {.epochs = 6});
}

TEST_P(Fitting, MakesNoDemandSyncMirroredOverTwoDevices) {
  set_seed(1);
  const MirroredStrategy strategy({device(0), device(1)});
  expect_no_demand(Model(strategy, [] { return FittedNet{}; }), {.epochs = 6});
}

TUTTI_ON_EVERY_BACKEND(Fitting);

}  // namespace
}  // namespace tutti::conformance
