// Points, timelines and what streams know of each other: the ground on which order, syncs and reuse stand.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tutti/hal/carried_error.h"
#include "tutti/hal/failure.h"
#include "tutti/hal/known_order.h"
#include "tutti/hal/timeline.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

// Timelines of their own, never retired: tests name streams that have none of the runtime's machinery.
StreamId line() {
  simulate_gpus(1);
  static std::vector<Stream>& kept = *new std::vector<Stream>;
  return kept.emplace_back("GPU:0").id();
}

// A point far beyond what a stream of these tests reaches: never done.
TimelinePoint far(StreamId stream, std::uint64_t value) { return {stream, value + 1'000'000}; }

}  // namespace

TEST(Points, OfNoStreamAreAlwaysDone) {
  EXPECT_TRUE(is_done(TimelinePoint{}));
  EXPECT_TRUE(is_done({StreamId::none, 77}));
}

TEST(Timeline, TellsAWaiterOnceWhenItsValueIsReached) {
  Timeline timeline;
  int told = 0;
  const auto count = [](void* argument) noexcept { ++*static_cast<int*>(argument); };
  EXPECT_TRUE(timeline.when_reached(3, count, &told));
  timeline.advance(2);
  EXPECT_EQ(told, 0);
  timeline.advance(3);
  EXPECT_EQ(told, 1);
  timeline.advance(4);
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(timeline.when_reached(4, count, &told)) << "reached already";
  EXPECT_EQ(told, 1);
}

TEST(Timeline, DoesNotTellAWaiterThatTookItsRegistrationBack) {
  Timeline timeline;
  int told = 0;
  int other = 0;
  const auto count = [](void* argument) noexcept { ++*static_cast<int*>(argument); };
  EXPECT_TRUE(timeline.when_reached(1, count, &told));
  EXPECT_TRUE(timeline.when_reached(5, count, &other));
  timeline.forget(&told);
  timeline.advance(9);
  EXPECT_EQ(told, 0);
  EXPECT_EQ(other, 1);
}

TEST(Timeline, LosesNoWaiterThatRegistersWhileItAdvances) {
  Timeline timeline;
  constexpr std::uint64_t last = 20'000;
  std::atomic<std::uint64_t> told = 0;
  std::uint64_t registered = 0;
  const auto count = [](void* argument) noexcept { static_cast<std::atomic<std::uint64_t>*>(argument)->fetch_add(1); };
  {
    std::jthread runner([&] {
      for (std::uint64_t value = 1; value <= last; ++value) timeline.advance(value);
    });
    for (std::uint64_t value = 1; value <= last; value += 3) registered += timeline.when_reached(value, count, &told) ? 1 : 0;
  }
  EXPECT_EQ(told, registered);
}

TEST(KnownOrder, CoversWhatWasWaitedForAndWhatTheProducerKnew) {
  const StreamId a = line();
  const StreamId b = line();
  KnownOrder known;
  EXPECT_FALSE(known.covers(far(a, 1)));
  known.learn(far(a, 5), {far(b, 7)}, 10);
  EXPECT_TRUE(known.covers(far(a, 5)));
  EXPECT_TRUE(known.covers(far(a, 3)));
  EXPECT_FALSE(known.covers(far(a, 6)));
  EXPECT_TRUE(known.covers(far(b, 7))) << "through the producer";
  EXPECT_FALSE(known.covers(far(b, 8)));
}

TEST(KnownOrder, RemembersSinceWhenItKnew) {
  const StreamId a = line();
  KnownOrder known;
  known.learn(far(a, 5), {}, 10);
  known.learn(far(a, 9), {}, 20);
  EXPECT_TRUE(known.known_at(9).empty());
  EXPECT_EQ(known.known_at(10), KnownOrder::Known{far(a, 5)});
  EXPECT_EQ(known.known_at(19), KnownOrder::Known{far(a, 5)});
  EXPECT_EQ(known.known_at(25), KnownOrder::Known{far(a, 9)});
}

TEST(KnownOrder, ForgetsTheOldestOnlyAndNeverInventsAnything) {
  const StreamId a = line();
  KnownOrder known;
  for (std::uint64_t i = 1; i <= 500; ++i) known.learn(far(a, i), {}, i);
  EXPECT_TRUE(known.covers(far(a, 500)));
  EXPECT_FALSE(known.covers(far(a, 501)));
  EXPECT_TRUE(known.known_at(1).empty()) << "long ago: an edge too many, never one too few";
  EXPECT_EQ(known.known_at(499), KnownOrder::Known{far(a, 499)});
}

TEST(FailureCell, HoldsTheLatestFailureUntilItIsCleared) {
  FailureCell cell;
  EXPECT_FALSE(cell.is_set());
  EXPECT_EQ(cell.get(), nullptr);
  const Site here;
  cell.set(std::make_shared<const Failure>(FailureKind::kernel, "first", "Op", "GPU:0", here));
  cell.set(std::make_shared<const Failure>(FailureKind::copy, "second", "Op", "GPU:0", here));
  ASSERT_TRUE(cell.is_set());
  EXPECT_EQ(cell.get()->reason, "second");
  EXPECT_THROW(cell.get()->raise(), CopyFailed);
  cell.clear();
  EXPECT_FALSE(cell.is_set());
}

TEST(Failure, IsThrownAsItsKindWithItsOrigin) {
  const Site here;
  const auto raise = [&](FailureKind kind) { Failure{kind, "why", "Op", "GPU:3", here}.raise(); };
  EXPECT_THROW(raise(FailureKind::kernel), KernelFailed);
  EXPECT_THROW(raise(FailureKind::copy), CopyFailed);
  EXPECT_THROW(raise(FailureKind::device_lost), DeviceLost);
  EXPECT_THROW(raise(FailureKind::cancelled), Cancelled);
  try {
    raise(FailureKind::kernel);
  } catch (const Error& e) {
    EXPECT_EQ(e.message(), "why (op Op on GPU:3)");
    EXPECT_EQ(e.site(), here);
  }
}

TEST(Failure, ThrowsAnErrorThatIsCarriedAsItWasThrown) {
  struct NoAnswer : CarriedError {
    using CarriedError::CarriedError;
    [[noreturn]] void raise(const std::string& also) const override { throw NoAnswer(message() + also, site()); }
  };
  const Site there;
  const FailureRef failure =
      failure_from(std::make_exception_ptr(NoAnswer("nobody answers", there)), FailureKind::kernel, "Op", "CPU:0", Site{});
  EXPECT_EQ(failure->to_string(), "nobody answers (op Op on CPU:0)");
  EXPECT_FALSE(failure->is_told());
  for (int i = 0; i < 2; ++i) {
    try {
      failure->raise("; 1 more failure");
      FAIL() << "nothing was thrown";
    } catch (const NoAnswer& e) {
      EXPECT_EQ(e.message(), "nobody answers; 1 more failure");
      EXPECT_EQ(e.site(), there);
    }
  }
  EXPECT_TRUE(failure->is_told());
}

TEST(Failure, FromAnythingThatIsThrownHasAReason) {
  const auto reason = [](const auto& thrown) {
    return failure_from(std::make_exception_ptr(thrown), FailureKind::kernel, "Op", "CPU:0", Site{})->reason;
  };
  EXPECT_EQ(reason(std::runtime_error("plain")), "plain");
  EXPECT_EQ(reason(InvalidArgument("ours", Site{})), "ours") << "without the line, which is the origin's to say";
  EXPECT_NE(reason(42).find("not a std::exception"), std::string::npos);
}

}  // namespace tutti
