// A replay is seen wherever launches are: in the ledger and the report, in the journal, by the bound on run-ahead, by the race
// detector and in the out-of-memory table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "graph/samples.h"
#include "races/touch.h"
#include "streams/gate.h"
#include "tutti/journal/journal.h"

namespace tutti::conformance {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_races::Pair;

class SeenReplays : public testing::Test {
 protected:
  void SetUp() override {
    simulate_gpus(1);
    scope_.emplace("GPU:0");
  }
  // Captured there, and recorded.
  template <class F>
  static auto recorded(F function, Site captured, const Tensor& x) {
    const auto step = capture(std::move(function), {}, captured);
    (void)step(x);
    sync_devices();
    reset_sync_totals();
    return step;
  }

 private:
  std::optional<DeviceScope> scope_;
};

std::vector<SyncTotals> totals_for(SyncReason reason) {
  std::vector<SyncTotals> out = sync_totals();
  std::erase_if(out, [&](const SyncTotals& each) { return each.reason != reason; });
  return out;
}

TEST_F(SeenReplays, AReadOfAResultIsASyncAtItsLineOfWhatItsOpMade) {
  const auto step = recorded([](const Tensor& x) { return sum(tanh(x)); }, {}, some(1));
  const Tensor result = step(some(2));
  EXPECT_EQ(sync_counts().demand, 0U) << "a replay waits for nothing";
  const Site line;
  (void)item<float>(result, line);
  const std::vector<SyncTotals> reads = totals_for(SyncReason::value_read);
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(reads[0].site, line);
  EXPECT_EQ(reads[0].calls, 1U);
  EXPECT_STREQ(reads[0].op, "Sum");
  EXPECT_THAT(sync_report().to_text(), AllOf(HasSubstr(line.to_string()), HasSubstr("what sum made")));
}

TEST_F(SeenReplays, TheHostRunsAheadOfTheirStreamToItsBoundAndWaitsAtTheLineOfTheCapture) {
  const Site captured;
  Stream stream("GPU:0", {.most_ops = 5});
  const Tensor x = some(1);
  const auto step = [&] {
    const StreamScope in(stream);
    return recorded([](const Tensor& y) { return exp(tanh(y * 2) + 1); }, captured, x);
  }();
  testing_streams::Gate gate;
  {
    const StreamScope in(stream);
    (void)gate.close("GPU:0");
  }
  gate.await_entered();
  std::atomic<int> handed_over = 0;
  std::jthread host([&] {
    const DeviceScope on("GPU:0");
    const StreamScope in(stream);
    for (int i = 0; i < 20; ++i) {
      (void)step(x);
      ++handed_over;
    }
  });
  while (totals_for(SyncReason::back_pressure).empty()) std::this_thread::yield();
  EXPECT_EQ(handed_over, 4) << "each is one piece of work, and the gate is one";
  EXPECT_EQ(sync_counts().demand, 0U);
  gate.open();
  host.join();
  EXPECT_EQ(handed_over, 20);
  for (const SyncTotals& each : totals_for(SyncReason::back_pressure)) EXPECT_EQ(each.site, captured);
}

TEST_F(SeenReplays, TheJournalHasTheSubmissionAndEveryKernel) {
  const Site captured;
  const Site of_product;
  const Site of_tanh;
  const auto step = recorded([&](const Tensor& x) { return tanh(matmul(x, x, of_product), of_tanh); }, captured, some(1, {8, 8}));
  journal::start();
  (void)numbers(step(some(2, {8, 8})));
  journal::stop();
  std::vector<journal::Event> enqueued;
  std::vector<journal::Event> ran;
  for (const journal::ThreadEvents& thread : journal::snapshot().threads) {
    for (const journal::Event& each : thread.events) {
      if (each.kind == journal::EventKind::enqueue && each.name == std::string("replay")) enqueued.push_back(each);
      if (each.kind == journal::EventKind::run) ran.push_back(each);
    }
  }
  ASSERT_EQ(enqueued.size(), 1U);
  EXPECT_EQ(enqueued[0].site, captured);
  const auto ran_at = [&](const std::string& op, Site line) {
    return std::count_if(ran.begin(), ran.end(), [&](const journal::Event& each) {
      return each.name == op && each.site == line && each.stream == enqueued[0].target && each.value == enqueued[0].value;
    });
  };
  EXPECT_EQ(ran_at("MatMul", of_product), 1);
  EXPECT_EQ(ran_at("Tanh", of_tanh), 1);
}

TEST(SeenReplaysOfTheCaller, StandInItsLaneOfTheJournalLikeOtherOps) {
  const auto function = [](const Tensor& x) { return tanh(matmul(x, x)); };
  const auto step = capture(function);
  const Tensor x = some(1);
  const Tensor square = matmul(transpose(x), x);
  (void)step(square);
  const auto kernels_of = [&](const auto& run) {
    journal::start();
    (void)run(square);
    journal::stop();
    std::vector<std::pair<std::string, StreamId>> out;
    for (const journal::ThreadEvents& thread : journal::snapshot().threads) {
      for (const journal::Event& each : thread.events) {
        if (each.kind == journal::EventKind::run) out.emplace_back(each.name, each.stream);
      }
    }
    return out;
  };
  EXPECT_EQ(kernels_of(step), kernels_of(function));
}

// What `race` says when it is found; empty: it is not.
template <class F>
std::string race_in(F&& race) {
  try {
    race();
  } catch (const RaceDetected& e) {
    return e.what();
  }
  return "";
}

TEST_F(SeenReplays, WhatIsOrderedByHandMayRaceWithThem) {
  const Site captured;
  Pair pair;
  const Variable total(pair.x);
  set_race_detection(RaceDetection::error);
  const auto step = recorded(
      [&](const Tensor& x) {
        total.assign_add(x);
        return exp(x) * 2;
      },
      captured, pair.x);
  const auto replay = [&] {
    Tensor out;
    Pair::in(pair.a, [&] { out = step(pair.x); });
    return out;
  };
  const auto by_hand = [&](auto&& access) {
    return race_in([&] {
      const ManualOrder order;
      Pair::in(pair.b, access);
    });
  };
  (void)replay();  // recorded on that stream
  sync_devices();
  Tensor out = replay();
  const std::string of_result = by_hand([&] { testing_races::read_on_device(out); });
  EXPECT_THAT(of_result, AllOf(HasSubstr("write by replay"), HasSubstr(captured.to_string())));
  out = replay();
  const std::string of_argument = by_hand([&] { testing_races::write(pair.x); });
  EXPECT_THAT(of_argument, AllOf(HasSubstr("read by replay"), HasSubstr(captured.to_string())));
  sync_devices();
  out = replay();
  Event done;
  done.record(pair.a);
  pair.b.wait(done);
  EXPECT_EQ(by_hand([&] { testing_races::write(out); }), "") << "it waits";
  EXPECT_EQ(by_hand([&] { testing_races::write(pair.x); }), "") << "it waits";
  EXPECT_EQ(race_in([&] {
              const ManualOrder order;
              (void)replay();
            }),
            "")
      << "the runtime orders a replay";
  sync_devices();
}

TEST_F(SeenReplays, WhatTheirPlanHoldsIsInTheOutOfMemoryTableAtTheLineOfTheCapture) {
  set_memory_limit("GPU:0", std::uint64_t{16} << 20U);
  const Site captured;
  const Tensor x = some(1, {512, 512});
  const auto chain = [](const Tensor& y) { return matmul(matmul(matmul(matmul(y, y), y), y), y); };
  const auto step = recorded(chain, captured, x);
  try {
    (void)zeros({4096, 1024});
    FAIL() << "there was room";
  } catch (const OutOfMemory& e) {
    EXPECT_THAT(e.what(), HasSubstr("2 MiB       1 buffer   "));
    EXPECT_THAT(e.what(), HasSubstr(captured.to_string()));
  }
  EXPECT_TRUE(is_same(step(x), chain(x)));
}

}  // namespace
}  // namespace tutti::conformance
