// A member that dies or stops anywhere keeps the others no longer than their deadline, and they learn the same.
#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "engines/processes.h"
#include "tutti/mesh/engines/shared_meeting.h"

namespace tutti::testing_engines {

namespace {

using namespace std::chrono_literals;

struct Witnessed {
  struct Member {
    std::atomic<std::uint32_t> rounds;
    std::atomic<std::uint32_t> attempt;
    std::atomic<std::int64_t> longest;  // wait, in milliseconds
  };
  std::array<Member, 8> members;
};

constexpr auto patience = 150ms;

}  // namespace

class Losing : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Signal, Losing, testing::Values(SIGKILL, SIGSTOP),
                         [](const auto& it) { return it.param == SIGKILL ? "Kill" : "Stop"; });

TEST_P(Losing, AMemberAtAnyMomentOfAMeetingEndsItForTheOthersByTheirDeadline) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int trial = 0; trial < (is_sanitized() ? 4 : 8); ++trial) {
    const int size = std::array{2, 3, 4, 8}[static_cast<std::size_t>(trial) % 4];
    const int lost = static_cast<int>(random() % static_cast<unsigned>(size));
    const std::uint32_t after = 1 + random() % 40;  // the first meeting has a long deadline, for processes that start late
    MeetingMembers survivors;
    for (int index = 0; index < size; ++index) survivors[static_cast<std::size_t>(index)] = index != lost;
    Blackboard board;
    Witness<Witnessed> seen;
    Processes processes(size, [&](int index) {
      const auto meeting = SharedMeeting::open(board, "meeting", size, index, in(30s));
      auto& mine = seen->members[static_cast<std::size_t>(index)];
      for (;;) {
        const auto start = Clock::now();
        meeting->arrive(1, "round", mine.rounds % 3 == 0);
        meeting->ready();
        // The first attempt starts when the last process has.
        const MeetingOutcome out = meeting->wait(mine.rounds == 0 ? in(30s) : Deadline(start + patience));
        const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
        if (mine.rounds.fetch_add(1) != 0) mine.longest = std::max(mine.longest.load(), took);
        if (out.ending == MeetingState::released) continue;
        require(out.ending == MeetingState::timed_out, "ended otherwise than by its deadline");
        // A slow machine lets anyone be late; in the end all but one are there, and all of them see the same.
        mine.attempt = out.attempt;
        if (out.came && *out.came == survivors) return;
      }
    });
    const auto late = in(30s);
    while (seen->members[static_cast<std::size_t>(lost)].rounds < after && Clock::now() < *late) std::this_thread::yield();
    ASSERT_LT(Clock::now(), *late);
    processes.signal(lost, GetParam());
    std::uint32_t attempt = 0;
    for (int index = 0; index < size; ++index) {
      if (index == lost) continue;
      ASSERT_EQ(processes.status(index), 0) << "trial " << trial << ", member " << index << " of " << size << ", lost " << lost;
      const auto& each = seen->members[static_cast<std::size_t>(index)];
      EXPECT_LE(each.longest, (patience + 1s).count()) << "member " << index << " of " << size;
      if (attempt == 0) attempt = each.attempt;
      EXPECT_EQ(each.attempt, attempt) << "member " << index << " of " << size << ", lost " << lost << " after " << after;
    }
  }
}

}  // namespace tutti::testing_engines
