// Meetings in shared memory: all go on together, or all who came learn the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "engines/processes.h"
#include "tutti/base/error.h"
#include "tutti/mesh/engines/shared_meeting.h"

namespace tutti::testing_engines {

namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

MeetingMembers members(std::initializer_list<std::size_t> which) {
  MeetingMembers out;
  for (const std::size_t each : which) out.set(each);
  return out;
}

std::unique_ptr<SharedMeeting> open(Rendezvous& board, int size, int index) {
  return SharedMeeting::open(board, "meeting", size, index, in(20s));
}

MeetingOutcome meet(SharedMeeting& meeting, Deadline deadline, const std::string& what = "here") {
  meeting.arrive(std::hash<std::string>()(what), what);
  return meeting.wait(deadline);
}

double cpu_milliseconds() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  const auto of = [](timeval t) { return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3; };
  return of(use.ru_utime) + of(use.ru_stime);
}

}  // namespace

class MeetingOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Processes, MeetingOf, testing::Values(1, 2, 4, 8),
                         [](const auto& it) { return std::to_string(it.param); });

TEST_P(MeetingOf, NobodyLeavesBeforeTheLastHasCome) {
  struct Seen {
    std::atomic<int> arrivals;
    std::atomic<int> rounds;
  };
  const int size = GetParam();
  Blackboard board;
  Witness<Seen> seen;
  seen->rounds = is_sanitized() ? 300 : 10'000;
  Processes processes(size, [&](int index) {
    const auto meeting = open(board, size, index);
    const auto start = Clock::now();
    for (int round = 0; round < seen->rounds; ++round) {
      seen->arrivals.fetch_add(1);
      const MeetingOutcome out = meet(*meeting, in(60s));
      require(out.ending == MeetingState::released, "not released");
      require(seen->arrivals.load() >= (round + 1) * size, "left before the last came");
      require(out.came->count() == static_cast<std::size_t>(size), "not all came");
      // On a machine that has no time for this fewer must do. Nobody is past the next one yet.
      if (index == 0 && Clock::now() - start > 20s) seen->rounds = std::min(seen->rounds.load(), round + 2);
    }
  });
  processes.expect_success();
  EXPECT_EQ(seen->arrivals.load(), seen->rounds * size);
  EXPECT_GE(seen->rounds, 200);
}

TEST(SharedMeeting, IsGivenUpAtTheDeadlineByAllWhoCame_AndCanBeTriedAgain) {
  Blackboard board;
  Processes processes(3, [&](int index) {
    const auto meeting = open(board, 3, index);
    if (index == 2) {
      (void)board.get("given up", in(30s));
    } else {
      if (index == 0) (void)board.get("1 is here", in(30s));
      const auto start = Clock::now();
      meeting->arrive(1, "first");
      if (index == 1) board.put("1 is here", "");
      // Whoever gives up first ends it for both.
      const MeetingOutcome out = meeting->wait(index == 0 ? in(100ms) : in(40s));
      require(out.ending == MeetingState::timed_out, "did not time out");
      require(out.attempt == 0 && out.came == members({0, 1}), "says that others came");
      require(Clock::now() - start < 20s, "the other's deadline did not count");
      board.put(index == 0 ? "given up" : "given up too", "");
    }
    require(meet(*meeting, in(30s)).ending == MeetingState::released, "the second attempt failed");
  });
  processes.expect_success();
}

TEST(SharedMeeting, EndsTheSameForAllWhenTheDeadlinePassesAsTheLastOneComes) {
  constexpr std::size_t most = 4096;
  struct Log {
    std::array<std::array<std::atomic<std::uint32_t>, 2>, most> endings;
    std::array<std::array<std::atomic<std::uint64_t>, 2>, most> came;
  };
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const int rounds = is_sanitized() ? 50 : 300;
  Blackboard board;
  Witness<Log> log;
  Processes processes(2, [&](int index) {
    std::mt19937 random(seed + static_cast<unsigned>(index));
    const auto meeting = open(board, 2, index);
    for (int round = 0; round < rounds;) {
      const auto until = Clock::now() + std::chrono::microseconds(random() % 30);
      while (Clock::now() < until) {}
      // Mostly patient, or too few of them would ever meet.
      const MeetingOutcome out =
          meet(*meeting, random() % 4 != 0 ? in(60s) : Clock::now() + std::chrono::microseconds(random() % 20));
      if (out.attempt < most && out.came) {
        log->endings[out.attempt][static_cast<std::size_t>(index)] = static_cast<std::uint32_t>(out.ending);
        log->came[out.attempt][static_cast<std::size_t>(index)] = out.came->to_ulong();
      }
      if (out.ending == MeetingState::released) ++round;
    }
  });
  processes.expect_success();
  int given_up = 0;
  for (std::size_t attempt = 0; attempt < most; ++attempt) {
    const auto ending = [&](std::size_t index) { return log->endings[attempt][index].load(); };
    if (ending(0) == 0 || ending(1) == 0) continue;
    EXPECT_EQ(ending(0), ending(1)) << "attempt " << attempt;
    EXPECT_EQ(log->came[attempt][0].load(), log->came[attempt][1].load()) << "attempt " << attempt;
    if (ending(0) != static_cast<std::uint32_t>(MeetingState::released)) ++given_up;
  }
  RecordProperty("given_up_by_both", given_up);
}

TEST(SharedMeeting, IsEndedForAllByAFailureThatOneLearnsOf) {
  Blackboard board;
  Processes processes(3, [&](int index) {
    const auto meeting = open(board, 3, index);
    require(meet(*meeting, in(60s)).ending == MeetingState::released, "did not meet at first");
    if (index == 2) return (void)board.get("over", in(60s));
    std::jthread watcher([&] {
      if (index != 1) return;
      (void)board.get("0 is there", in(30s));
      meeting->fail();
    });
    const auto start = Clock::now();
    meeting->arrive(7, "here");
    if (index == 0) board.put("0 is there", "");
    MeetingOutcome out = meeting->wait(std::nullopt);
    require(out.ending == MeetingState::failed, "did not fail");
    require(!out.came->test(2), "the missing one came");
    require(Clock::now() - start < 20s, "took long");
    if (index == 1) {
      watcher.join();
      out = meet(*meeting, std::nullopt);
      require(out.ending == MeetingState::failed, "a later meeting of the one that knows did not fail");
      board.put("over", "");
    }
  });
  processes.expect_success();
}

TEST(SharedMeeting, OfMembersThatAreAtDifferentPointsTellsAllOfThemBothSides) {
  Blackboard board;
  Processes processes(4, [&](int index) {
    const auto meeting = open(board, 4, index);
    const MeetingOutcome out = meet(*meeting, in(30s), index < 2 ? "barrier 'before exit'" : "all_reduce of f32[3]");
    require(out.ending == MeetingState::mismatch, "no mismatch");
    require(out.sides.size() == 2, "both sides");
    require(out.sides[0].member == 0 && out.sides[0].said == "barrier 'before exit'", out.sides[0].said);
    require(out.sides[1].member == 2 && out.sides[1].said == "all_reduce of f32[3]", out.sides[1].said);
    require(meet(*meeting, in(30s)).ending == MeetingState::released, "agreed and still not released");
  });
  processes.expect_success();
}

TEST(SharedMeeting, ReleasesNobodyBeforeAllHaveDrained) {
  Blackboard board;
  Witness<std::atomic<int>> ready;
  Processes processes(3, [&](int index) {
    const auto meeting = open(board, 3, index);
    for (int round = 0; round < 200; ++round) {
      const bool drains = (round + index) % 3 != 0;
      meeting->arrive(1, "barrier", drains);
      ready->fetch_add(1);
      if (drains) meeting->ready();
      const MeetingOutcome out = meeting->wait(in(30s));
      require(out.ending == MeetingState::released && out.is_draining, "not released after draining");
      require(ready->load() >= (round + 1) * 3, "released while one drains");
    }
  });
  processes.expect_success();
}

TEST(SharedMeeting, TellsWhoStillDrainsFromWhoDidNotCome) {
  Blackboard board;
  Processes processes(3, [&](int index) {
    const auto meeting = open(board, 3, index);
    const auto after = [&](const std::string& note) { (void)board.get(note, in(30s)); };
    // All are here, one does not become ready in time.
    if (index == 0) after("1 is here");
    if (index == 0) after("2 is here");
    meeting->arrive(1, "barrier", index == 1);
    board.put(std::to_string(index) + " is here", "");
    if (index != 0) after("0 is here");
    if (index == 1) {
      after("0 gave up");
      after("2 gave up");
      meeting->ready();
    }
    MeetingOutcome out = meeting->wait(index == 1 ? in(30s) : in(100ms));
    require(out.ending == MeetingState::timed_out && out.is_draining, "did not say that someone drains");
    require(!out.came->test(1), "the one that drains was ready");
    board.put(std::to_string(index) + " gave up", "");
    // One is not here, one of the others drains.
    if (index == 2) return after("1 gave up again");
    if (index == 0) after("1 is here again");
    meeting->arrive(1, "barrier", index == 1);
    if (index == 1) {
      board.put("1 is here again", "");
      after("0 gave up again");
      meeting->ready();
    }
    out = meeting->wait(index == 1 ? in(30s) : in(100ms));
    require(out.ending == MeetingState::timed_out && !out.is_draining, "said that all were here");
    require(out.came == members({0, 1}), "not those who came");
    require(index == 1 || out.draining == members({1}), "not the one that drains");
    board.put(std::to_string(index) + " gave up again", "");
  });
  processes.expect_success();
}

TEST(SharedMeeting, GoesOnWithoutAnArrivalThatWasTakenBack) {
  Blackboard board;
  Processes processes(2, [&](int index) {
    const auto meeting = open(board, 2, index);
    if (index == 0) {
      meeting->arrive(std::hash<std::string>()("here"), "here");
      meeting->withdraw();
      board.put("withdrawn", "");
      (void)board.get("given up", in(30s));
      meeting->arrive(std::hash<std::string>()("here"), "here", true);
      meeting->withdraw();
      require(meet(*meeting, in(30s)).ending == MeetingState::released, "no meeting afterwards");
    } else {
      (void)board.get("withdrawn", in(30s));
      MeetingOutcome out = meet(*meeting, in(50ms));
      require(out.ending == MeetingState::timed_out && out.came == members({1}), "met one who had gone");
      board.put("given up", "");
      do {
        out = meet(*meeting, in(30s));
      } while (out.ending == MeetingState::failed);  // met it, and then it left
      require(out.ending == MeetingState::released, "no meeting afterwards");
    }
  });
  processes.expect_success();
}

TEST(SharedMeeting, LetsAWaiterSleep) {
  Blackboard board;
  Processes processes(1, [&](int) {
    const auto meeting = open(board, 2, 0);
    const double before = cpu_milliseconds();
    require(meet(*meeting, in(300ms)).ending == MeetingState::timed_out, "did not time out");
    const double used = cpu_milliseconds() - before;
    require(used < 5, "used " + std::to_string(used) + " ms of a core");
  });
  processes.expect_success();
}

TEST(SharedMeeting, HasRoomForAsManyAsItSays) {
  Blackboard board;
  constexpr int size = SharedMeeting::most_members;
  Processes processes(1, [&](int) {
    std::vector<std::unique_ptr<SharedMeeting>> meetings;
    for (int index = 0; index < size; ++index) meetings.push_back(open(board, size, index));
    std::atomic<int> arrivals = 0;
    std::atomic<int> bad = 0;
    std::vector<std::jthread> threads;
    for (int index = 0; index < size; ++index) {
      threads.emplace_back([&, index] {
        for (int round = 0; round < 20; ++round) {
          arrivals.fetch_add(1);
          const MeetingOutcome out = meet(*meetings[static_cast<std::size_t>(index)], in(60s));
          if (out.ending != MeetingState::released || arrivals.load() < (round + 1) * size) ++bad;
        }
      });
    }
    threads.clear();
    require(bad == 0, std::to_string(bad) + " members left too early");
    meetings[40]->arrive(1, "x");
    meetings[95]->arrive(1, "x");
    require(meetings[95]->wait(Clock::now()).came == members({40, 95}), "not those who came");
  });
  processes.expect_success();
  try {
    (void)open(board, size + 1, 0);
    FAIL() << "one too many";
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), HasSubstr("room for 96"));
  }
}

}  // namespace tutti::testing_engines
