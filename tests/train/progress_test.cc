// A progress bar fits its line, is not drawn too often, and gives way to lines or to nothing.
#include <gmock/gmock.h>

#include "train/fit_problems.h"
#include "tutti/train/progress.h"

namespace tutti::testing_fit {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

ProgressState half_way() {
  return {.epoch = 2,
          .epochs = 10,
          .step = 180,
          .steps = 400,
          .seconds = 0.25,
          .timed = 180,
          .values = {{"loss", 0.123456}, {"accuracy", 0.98711}}};
}

TEST(Progress, BarShowsStepsValuesPaceAndTimeLeftIn80Columns) {
  EXPECT_EQ(bar_text(half_way(), 79), "Epoch 3/10 [==>   ] 180/400  loss 0.1235 accuracy 0.9871  720 steps/s 0:01 left");
  ProgressState slow = half_way();
  slow.seconds = 3600;
  slow.values.clear();
  EXPECT_EQ(bar_text(slow, 79), "Epoch 3/10 [=============>                ] 180/400  0.05 steps/s 1:13:20 left");
  slow.timed = 0;
  EXPECT_EQ(bar_text(slow, 79), "Epoch 3/10 [=============>                ] 180/400");
  slow.step = 400;
  EXPECT_EQ(bar_text(slow, 79), "Epoch 3/10 [==============================] 400/400");
}

TEST(Progress, BarNeverTakesMoreThanItsColumns) {
  ProgressState state = half_way();
  for (int i = 0; i < 12; ++i) {
    for (std::size_t columns : {19U, 40U, 60U, 79U}) {
      EXPECT_LE(bar_text(state, columns).size(), columns);
      EXPECT_THAT(bar_text(state, columns), StartsWith("Epoch 3/10"));
    }
    state.values.emplace_back("a_metric_with_a_long_name", 1e-12 * i);
  }
}

TEST(Progress, IsDrawnTenTimesASecondAtMost) {
  std::ostringstream out;
  const Clock::time_point start = Clock::now();
  int drawn = 0;
  {
    Progress progress(out, Verbosity::bar, 80);
    for (int i = 0; i < 2000; ++i) {
      const Clock::time_point now = start + std::chrono::milliseconds(i);
      if (!progress.is_due(now)) continue;
      progress.draw(half_way(), now);
      ++drawn;
    }
    progress.tell(half_way());
  }
  EXPECT_EQ(drawn, 20);
  EXPECT_THAT(out.str(), testing::EndsWith("\r\x1b[KEpoch 3/10: loss 0.1235, accuracy 0.9871; 180 steps in 250.0 ms\n"));
}

TEST(Progress, OfAFitIsALineForEachEpochWhereThereIsNoTerminal) {
  const Model model(Net{});
  model.compile(classifier());
  std::ostringstream out;
  const auto data = Dataset(regions(20)).batch(8);
  static_cast<void>(model.fit(data, {.epochs = 2, .validation = data, .out = &out}));
  EXPECT_THAT(out.str(), testing::MatchesRegex(
                             "Epoch 1/2: loss [^,]*, accuracy [^,]*, val_loss [^,]*, val_accuracy [^,]*; 3 steps in .*s\n"
                             "Epoch 2/2: loss [^,]*, accuracy [^,]*, val_loss [^,]*, val_accuracy [^,]*; 3 steps in .*s\n"));
  out.str("");
  static_cast<void>(model.fit(data, {.epochs = 2, .verbose = Verbosity::quiet, .out = &out}));
  EXPECT_EQ(out.str(), "");
  static_cast<void>(model.fit(data, {.epochs = 1, .verbose = Verbosity::bar, .out = &out}));
  EXPECT_THAT(out.str(), HasSubstr("\rEpoch 1/1 ["));
  EXPECT_THAT(out.str(), HasSubstr("\x1b[KEpoch 1/1: loss "));
}

}  // namespace
}  // namespace tutti::testing_fit
