// The output of many ranks as one: what is whole, what waits, and what is shown after a moment.
#include "tools/merged_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>
#include <string_view>

namespace {

using tutti::tools::MergedOutput;

// An output that ends in a pipe, and a clock that moves when told.
class MergedOutputTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK), 0);
    output_ = MergedOutput(ends_[1]);
    a_ = output_.add_source("[0] ");
    b_ = output_.add_source("[1] ");
  }
  void TearDown() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  // What has come out since the last call.
  std::string shown() {
    std::string out;
    std::array<char, 65'536> bytes{};
    for (;;) {
      const bool has_bytes = output_.has_bytes();
      if (has_bytes && !output_.write_some()) return out + "(broken)";
      const ssize_t count = ::read(ends_[0], bytes.data(), bytes.size());
      if (count > 0) out.append(bytes.data(), static_cast<std::size_t>(count));
      if (!has_bytes && count <= 0) return out;
    }
  }

  void take(std::size_t source, std::string_view bytes) { output_.take(source, bytes, now_); }
  void pass(std::chrono::milliseconds time) {
    now_ += time;
    output_.show_due(now_);
  }

  std::array<int, 2> ends_{};
  MergedOutput output_{-1};
  MergedOutput::Time now_ = MergedOutput::Time(std::chrono::hours(1));
  std::size_t a_ = 0;
  std::size_t b_ = 0;
};

constexpr auto moment = MergedOutput::moment;

TEST_F(MergedOutputTest, EveryLineHasItsRankInFront) {
  take(a_, "one\ntwo\n");
  take(b_, "\n");
  EXPECT_EQ(shown(), "[0] one\n[0] two\n[1] \n");
}

TEST_F(MergedOutputTest, PartsOfLinesWaitForTheirRest) {
  take(a_, "one and ");
  take(b_, "the other\n");
  EXPECT_EQ(shown(), "[1] the other\n");
  pass(moment / 2);
  take(a_, "a half\nnext");
  EXPECT_EQ(shown(), "[0] one and a half\n");
}

TEST_F(MergedOutputTest, ABeginningIsShownAfterAMomentAndGoesOnInItsLine) {
  take(a_, "your name? ");
  ASSERT_TRUE(output_.next().has_value());
  EXPECT_EQ(*output_.next(), now_ + moment);
  pass(moment);
  EXPECT_EQ(shown(), "[0] your name? ");
  EXPECT_EQ(output_.next(), std::nullopt);
  take(a_, "ah, ");
  take(a_, "that one\n");
  EXPECT_EQ(shown(), "ah, that one\n");
}

TEST_F(MergedOutputTest, WhoSpeaksIntoAnIdleLineEndsItFirst) {
  take(a_, "your name? ");
  pass(moment);
  take(b_, "working\n");
  EXPECT_EQ(shown(), "[0] your name? \n[1] working\n");
  take(a_, "ah\n");
  EXPECT_EQ(shown(), "[0] ah\n");
}

TEST_F(MergedOutputTest, ALineThatIsBeingShownIsNotInterrupted) {
  take(a_, "your name? ");
  pass(moment);
  take(a_, "I thi");
  take(b_, "working\n");
  EXPECT_EQ(shown(), "[0] your name? I thi");
  ASSERT_TRUE(output_.next().has_value());
  take(a_, "nk\n");
  EXPECT_EQ(shown(), "nk\n");
  pass(std::chrono::milliseconds(0));
  EXPECT_EQ(shown(), "[1] working\n");
}

TEST_F(MergedOutputTest, AVeryLongLineIsPassedOnInPartsAndStaysWhole) {
  const std::string part(700'000, 'x');
  take(a_, part);
  EXPECT_EQ(shown(), "");
  take(a_, part);
  take(b_, "short\n");
  take(a_, part);
  take(a_, "\n");
  pass(std::chrono::milliseconds(0));
  EXPECT_EQ(shown(), "[0] " + part + part + part + "\n[1] short\n");
}

TEST_F(MergedOutputTest, ALastLineWithoutAnEndGetsOne) {
  take(a_, "no end");
  output_.end(a_, now_);
  EXPECT_EQ(shown(), "[0] no end\n");
  take(b_, "shown");
  pass(moment);
  output_.end(b_, now_);
  EXPECT_EQ(shown(), "[1] shown\n");
  output_.finish();
  EXPECT_EQ(shown(), "");
}

TEST_F(MergedOutputTest, FinishingShowsEverythingThatWaited) {
  take(a_, "begun");
  pass(moment);
  take(a_, " and go");
  take(b_, "waits\nand waits");
  output_.finish();
  EXPECT_EQ(shown(), "[0] begun and go\n[1] waits\n[1] and waits\n");
}

TEST_F(MergedOutputTest, TheLaunchersOwnLineComesAtOnceOnALineOfItsOwn) {
  take(a_, "begun");
  pass(moment);
  output_.say("tutti: something");
  EXPECT_EQ(shown(), "[0] begun\ntutti: something\n");
}

TEST_F(MergedOutputTest, WhatIsNotWrittenHoldsUpWhoSpeaksAndNobodyCountsAsSilentMeanwhile) {
  take(a_, std::string(2'000'000, 'x'));
  while (!output_.is_full()) take(a_, std::string(1'000'000, 'x'));
  take(b_, "waits\n");
  pass(10 * moment);
  EXPECT_TRUE(output_.is_full(b_));
  EXPECT_EQ(shown().find('\n'), std::string::npos);
  EXPECT_FALSE(output_.is_full());
  pass(moment / 2);
  EXPECT_EQ(shown(), "");
  take(a_, "\n");
  pass(std::chrono::milliseconds(0));
  EXPECT_EQ(shown(), "\n[1] waits\n");
}

TEST_F(MergedOutputTest, AnOutputNobodyReadsIsBrokenAndTakesNothingMore) {
  ::signal(SIGPIPE, SIG_IGN);
  ::close(ends_[0]);
  take(a_, "one\n");
  EXPECT_FALSE(output_.write_some());
  EXPECT_TRUE(output_.is_broken());
  take(a_, "two\n");
  output_.say("three");
  output_.finish();
  EXPECT_FALSE(output_.has_bytes());
  ends_[0] = -1;
}

}  // namespace
