// How races are told: once per pair of calls, in the log or as an error, switched on in code or from outside; in bounded memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "races/touch.h"
#include "streams/gate.h"

namespace tutti {

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing_races::Pair;
using testing_races::read_on_device;
using testing_races::write;

// What is logged while it lives.
class Lines {
 public:
  Lines() {
    set_log_sink([this](LogLevel, std::string_view line) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(line);
    });
  }
  ~Lines() { set_log_sink({}); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  [[nodiscard]] std::vector<std::string> all() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

void race_between(Pair& pair) {
  const ManualOrder by_hand;
  Pair::in(pair.a, [&] { write(pair.x); });
  Pair::in(pair.b, [&] { write(pair.x); });
}

std::string output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::string out;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) out += static_cast<char>(c);
  ::pclose(pipe);
  return out;
}

std::string child_with(const std::string& environment) {
  char self[4096] = {};
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return "no path";
  return output_of(environment + " '" + self + "' --gtest_filter=RaceReport.IsNotMadeUnlessAskedFor 2>&1");
}

}  // namespace

TEST(RaceReport, SaysADistinctPairOnceHoweverOftenItHappens) {
  simulate_gpus(1);
  set_race_detection(RaceDetection::report);
  Pair pair;
  Lines lines;
  for (int i = 0; i < 50; ++i) race_between(pair);
  ASSERT_EQ(races().size(), 2U) << "the loop races within a turn and from one turn to the next";
  EXPECT_THAT(lines.all(), ElementsAre(AllOf(HasSubstr("race on bytes 0 to 256 of the 256 allocated at "),
                                             HasSubstr("earlier: write by Test_w"), HasSubstr("later:   write by Test_w")),
                                       HasSubstr("race on bytes")));
  EXPECT_EQ(races()[0].times, 50U);
  EXPECT_EQ(races()[1].times, 49U);
  EXPECT_EQ(race_figures().found, 99U);
  clear_races();
  EXPECT_EQ(race_figures().found, 0U);
  EXPECT_TRUE(races().empty());
}

TEST(RaceReport, GoesOnWithTheProgram) {
  simulate_gpus(1);
  set_race_detection(RaceDetection::report);
  Pair pair;
  const Lines lines;
  EXPECT_NO_THROW(race_between(pair));
  EXPECT_EQ(races().size(), 1U);
  EXPECT_NO_THROW(sync_devices());
}

TEST(RaceReport, IsSilentWhenSwitchedOffAndStartsAfreshWhenSwitchedOn) {
  simulate_gpus(1);
  Pair pair;
  Lines lines;
  EXPECT_EQ(get_race_detection(), RaceDetection::off);
  race_between(pair);
  EXPECT_THAT(lines.all(), ElementsAre());
  set_race_detection(RaceDetection::error);
  EXPECT_EQ(get_race_detection(), RaceDetection::error);
  EXPECT_NO_THROW(sync_devices());
  EXPECT_THROW(race_between(pair), RaceDetected);
  set_race_detection(RaceDetection::off);
  EXPECT_NO_THROW(race_between(pair));
}

TEST(RaceReport, IsAnErrorAtTheLineOfTheLaterCall) {
  simulate_gpus(1);
  set_race_detection(RaceDetection::error);
  Pair pair;
  try {
    race_between(pair);
    FAIL() << "no race was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.site().line(), races().at(0).later.site.line());
    EXPECT_EQ(races().at(0).later.site.line(), races().at(0).earlier.site.line() + 1);
  }
}

TEST(RaceReport, IsNotMadeUnlessAskedFor) {
  simulate_gpus(1);
  Pair pair;
  race_between(pair);
  EXPECT_EQ(race_figures().found, get_race_detection() == RaceDetection::off ? 0U : 1U);
}

TEST(RaceReport, IsAskedForByTheEnvironment) {
  EXPECT_THAT(child_with("TUTTI_RACES=report"), AllOf(HasSubstr("warning: race on bytes"), HasSubstr("[  PASSED  ]")));
  EXPECT_THAT(child_with("TUTTI_RACES=error"), AllOf(HasSubstr("race on bytes"), HasSubstr("[  FAILED  ]")));
  EXPECT_THAT(child_with("TUTTI_RACES=off"), AllOf(Not(HasSubstr("race on bytes")), HasSubstr("[  PASSED  ]")));
  EXPECT_THAT(child_with("TUTTI_RACES=yes"),
              AllOf(HasSubstr("TUTTI_RACES=yes is ignored: it takes off, report or error"), HasSubstr("[  PASSED  ]")));
}

TEST(RaceReport, KeepsAListOfBoundedLengthAndCountsTheRest) {
  simulate_gpus(1);
  set_race_detection(RaceDetection::report);
  Pair pair;
  const Lines lines;
  const ManualOrder by_hand;
  // The column of a call tells it apart from the others, so a pair of ops per turn is a pair of its own.
  constexpr int pairs = 300;
  for (int i = 0; i < pairs; ++i) {
    const std::string letters = "w" + std::string(static_cast<std::size_t>(i), 'r');
    const std::vector<Tensor> inputs(static_cast<std::size_t>(i) + 1, pair.x);
    Pair::in(i % 2 == 0 ? pair.a : pair.b, [&] { testing_races::touch(letters, inputs); });
  }
  EXPECT_EQ(race_figures().found, static_cast<std::uint64_t>(pairs) - 1);
  EXPECT_EQ(race_figures().distinct, 256U);
  EXPECT_EQ(race_figures().unlisted, static_cast<std::uint64_t>(pairs) - 1 - 256);
}

TEST(RaceDetector, WatchesOnlyWhatTheHostHasNotSeenDone) {
  simulate_gpus(1);
  set_race_detection(RaceDetection::error);
  const DeviceScope on("GPU:0");
  const Tensor x = full({1 << 20}, 0.0F, DType::f32);
  std::uint64_t most = 0;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    write(slice(x, 0, {2 * i, 2 * i + 1}));  // never the same bytes twice
    if (i % 1000 == 0) sync_devices();
    most = std::max(most, race_figures().ranges);
  }
  EXPECT_LE(most, 8192U);
  EXPECT_EQ(race_figures().forgotten, 0U);
}

TEST(RaceDetector, ForgetsAndSaysSoRatherThanGrowWithoutBound) {
  simulate_gpus(1);
  set_race_detection(RaceDetection::error);
  const DeviceScope on("GPU:0");
  const Tensor x = full({1 << 20}, 0.0F, DType::f32);
  Stream stream("GPU:0", {.most_ops = 65536, .most_bytes = std::uint64_t{1} << 50U});
  const StreamScope in(stream);
  testing_streams::Gate gate;
  (void)gate.close("GPU:0");  // nothing is done before the end
  for (std::int64_t i = 0; i < 40'000; ++i) write(slice(x, 0, {2 * i, 2 * i + 1}));
  EXPECT_LE(race_figures().ranges, 32768U);
  EXPECT_GE(race_figures().forgotten, 40'000U - 32768U);
}

TEST(RaceDetector, IsToldOfTheProgramsOwnWritesToMemoryItLent) {
  simulate_gpus(1);
  set_race_detection(RaceDetection::error);
  std::vector<float> mine(64, 1.0F);
  const Tensor x = wrap_host_memory(mine.data(), DType::f32, {64}, [] {});
  Stream stream("CPU:0");
  set_synchronous_execution(false);
  testing_streams::Gate gate;
  {
    const DeviceScope on("CPU:0");
    const StreamScope in(stream);
    (void)gate.close("CPU:0");
    read_on_device(slice(x, 0, {0, 32}));
  }
  EXPECT_NO_THROW(about_to_read(mine.data(), 64 * sizeof(float)));
  EXPECT_NO_THROW(about_to_write(mine.data() + 32, 32 * sizeof(float)));
  EXPECT_THROW(about_to_write(mine.data() + 31, sizeof(float)), RaceDetected);
  EXPECT_THAT(to_string(races().at(0)),
              AllOf(HasSubstr("race on bytes 124 to 128 of the 256 allocated at "), HasSubstr("write by the program itself"),
                    HasSubstr("Call sync() on an Event recorded after Test_r")));
  gate.open();
  stream.sync();
  EXPECT_NO_THROW(about_to_write(mine.data(), 64 * sizeof(float)));
  set_synchronous_execution(true);
}

}  // namespace tutti
