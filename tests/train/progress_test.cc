// A progress bar fits its line, is not drawn too often, and gives way to lines or to nothing.
#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <streambuf>
#include <thread>

#include "streams/gate.h"
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
  ProgressState begun = half_way();
  begun.seconds = 0.09;
  EXPECT_THAT(bar_text(begun, 79), testing::EndsWith("180/400  loss 0.1235 accuracy 0.9871")) << "too early to tell a pace";
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

// A device that stands still after three steps, while the host submits ten.
TEST(Progress, BarCountsTheStepsThatAreDoneAndNotThoseSubmitted) {
  simulate_gpus(1);
  const Model model(Net{});
  model.compile(classifier());
  std::ostringstream out;
  std::string bar;
  testing_streams::Gate gate;
  const auto look = [&](Training& training) {
    if (training.step() == 3) static_cast<void>(gate.close("GPU:0"));
    if (training.step() == 9) {
      gate.await_entered();
      const auto next_bar = Clock::now() + Progress::apart;
      while (Clock::now() < next_bar) std::this_thread::yield();
      out.str("");
    }
    if (training.step() == 10) {
      bar = out.str();
      gate.open();
    }
  };
  static_cast<void>(
      model.fit(Dataset(regions(96)).batch(8), {.callbacks = {on_step_end(look)}, .verbose = Verbosity::bar, .out = &out}));
  EXPECT_THAT(bar, HasSubstr(" 3/12 "));
}

// The device stands still in the first epoch while the host submits most of the second; then it does all of that and has nothing
// to do for a while, before the host looks again.
TEST(Progress, ValuesPaceAndTimesAreOfTheEpochThatTheDeviceIsIn) {
  simulate_gpus(1);
  const Model model(Net{});
  model.compile(classifier());
  std::ostringstream out;
  std::string early;
  std::string late;
  testing_streams::Gate gate;
  const auto let_pass = [](std::chrono::milliseconds time) {
    const auto end = Clock::now() + time;
    while (Clock::now() < end) std::this_thread::yield();
  };
  constexpr std::chrono::milliseconds idle{300};
  Clock::time_point all_done;
  const auto look = [&](Training& training) {
    if (training.step() == 3) static_cast<void>(gate.close("GPU:0"));
    if (training.step() == 17) {
      let_pass(2 * Progress::apart);
      out.str("");
    }
    if (training.step() == 18) {
      early = out.str();
      gate.open();
      sync_devices();
      all_done = Clock::now();
      let_pass(idle);
      out.str("");
    }
    if (training.step() == 19) late = out.str();
  };
  const auto begin = Clock::now();
  const History history = model.fit(Dataset(regions(96)).batch(8),
                                    {.epochs = 2, .callbacks = {on_step_end(look)}, .verbose = Verbosity::bar, .out = &out});
  EXPECT_THAT(early, testing::ContainsRegex("Epoch 1/2 .* 3/12  loss [^ ]+ accuracy [^ ]+  [^ ]+ steps/s"));
  ASSERT_THAT(late, testing::ContainsRegex("Epoch 2/2 .* [67]/12  loss [^ ]+ accuracy [^ ]+  [^ ]+ steps/s"));
  const std::string pace = late.substr(0, late.find(" steps/s"));
  EXPECT_LE(std::stod(pace.substr(pace.rfind(' '))), 7 / 0.3);
  ASSERT_EQ(history.epochs(), 2);
  EXPECT_LT(history.seconds[0], std::chrono::duration<double>(all_done - begin).count());
  EXPECT_GE(history.seconds[1], std::chrono::duration<double>(idle).count());
  EXPECT_LT(history.seconds[0] + history.seconds[1], std::chrono::duration<double>(Clock::now() - begin).count());
}

// Output that may be looked at while it is written.
class Screen final : public std::streambuf {
 public:
  [[nodiscard]] std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  int_type overflow(int_type character) override {
    const std::lock_guard lock(mutex_);
    text_ += traits_type::to_char_type(character);
    return character;
  }
  mutable std::mutex mutex_;
  std::string text_;
};

// The host has submitted all twelve steps and waits for their values; the device stands still after three and after eight.
TEST(Progress, BarGoesOnWhileFitWaitsForWhatItSubmitted) {
  simulate_gpus(1);
  const Model model(Net{});
  model.compile(classifier());
  testing_streams::Gate early;
  testing_streams::Gate late;
  const auto look = [&](Training& training) {
    if (training.step() == 3) static_cast<void>(early.close("GPU:0"));
    if (training.step() == 8) static_cast<void>(late.close("GPU:0"));
  };
  Screen screen;
  std::ostream out(&screen);
  std::thread device([&] {
    const auto host_waits = [] {
      const std::vector<SyncTotals> all = sync_totals();
      return std::any_of(all.begin(), all.end(), [](const SyncTotals& each) { return each.waiting > 0; });
    };
    while (!host_waits()) std::this_thread::yield();
    const auto next_bar = Clock::now() + Progress::apart;
    while (Clock::now() < next_bar) std::this_thread::yield();
    const std::size_t before = screen.text().size();
    early.open();
    const auto deadline = Clock::now() + std::chrono::seconds(10);
    while (screen.text().size() == before && Clock::now() < deadline) std::this_thread::yield();
    late.open();
  });
  const std::uint64_t demand = sync_counts().demand;
  static_cast<void>(
      model.fit(Dataset(regions(96)).batch(8), {.callbacks = {on_step_end(look)}, .verbose = Verbosity::bar, .out = &out}));
  device.join();
  EXPECT_THAT(screen.text(), testing::ContainsRegex("\\] [4-8]/12 "));
  EXPECT_LE(sync_counts().demand, demand + 2);
}

// The terminal of a window with 50 columns.
TEST(Progress, OfAFitInATerminalIsABarAndThenALine) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) GTEST_SKIP() << "there are no terminals here";
  const int window = ::open(ptsname(terminal), O_RDWR | O_NOCTTY);
  ASSERT_GE(window, 0);
  const winsize size{.ws_row = 20, .ws_col = 50, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(ioctl(window, TIOCSWINSZ, &size), 0);
  std::cout << std::flush;
  const int before = ::dup(STDOUT_FILENO);
  ::dup2(window, STDOUT_FILENO);
  const Model model(Net{});
  model.compile(classifier());
  const auto data = Dataset(regions(40)).batch(8);
  static_cast<void>(model.fit(data, {.epochs = 1}));
  std::cout << std::flush;
  ::dup2(before, STDOUT_FILENO);
  std::string shown;  // comes in pieces
  while (!shown.ends_with('\n')) {
    char piece[4096];
    const ssize_t count = ::read(terminal, piece, sizeof piece);
    ASSERT_GT(count, 0);
    shown.append(piece, static_cast<std::size_t>(count));
  }
  const std::size_t line = shown.find("\r\x1b[KEpoch 1/1: loss ");
  ASSERT_NE(line, std::string::npos) << testing::PrintToString(shown);
  EXPECT_THAT(shown, testing::EndsWith("s\r\n"));
  std::istringstream bars(shown.substr(0, line));
  int drawn = 0;
  for (std::string bar; std::getline(bars, bar, '\r'); drawn += bar.empty() ? 0 : 1) {
    if (bar.empty()) continue;
    EXPECT_THAT(bar, testing::AllOf(StartsWith("Epoch 1/1 ["), testing::EndsWith("\x1b[K")));
    EXPECT_LE(bar.size(), 49U + 3U) << bar;
  }
  EXPECT_GE(drawn, 1);
  for (const int each : {window, terminal, before}) ::close(each);
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
