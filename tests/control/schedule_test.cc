// Random schedules of arrivals, withdrawals, deaths and time on what the coordinator knows and decides, against a plain model of
// it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tutti/mesh/control/assembly.h"

namespace tutti::control {
namespace {

using std::chrono::milliseconds;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned schedules = 100;
#else
constexpr unsigned schedules = 2'000;
#endif
constexpr int world = 4;

struct Group {
  std::string name;
  std::vector<int> ranks;
};
const std::vector<Group>& groups() {
  static const std::vector<Group> all{{"world", {0, 1, 2, 3}}, {"left", {0, 1}}, {"right", {2, 3}}, {"middle", {1, 2}}};
  return all;
}

// What a meeting ended with, for one ticket.
struct Ending {
  bool released = false;
  MeetingReport::Cause cause{};
  std::string report;
};

class Schedule : private Outbox {
 public:
  explicit Schedule(unsigned seed) : random_(seed), assembly_(options(), *this) {
    for (int rank = 0; rank < world; ++rank) join(rank);
    EXPECT_EQ(assembly_.roster().here(), world);
  }

  void run() {
    for (int step = 0; step < 120 && !testing::Test::HasFailure(); ++step) {
      act();
      check();
    }
    // With time, what cannot go on ends: no circle stands, and no deadline is left.
    for (int i = 0; i < 30; ++i) pass(milliseconds(50));
    check();
    EXPECT_FALSE(a_circle_stands());
    for (const auto& [key, ticket] : waiting_) EXPECT_FALSE(ticket.deadline) << "a deadline was missed";
    for (int rank = 0; rank < world; ++rank) {
      if (session_[rank] != 0) die(rank);
    }
    EXPECT_EQ(assembly_.open_meetings(), 0U) << "something is left when all are gone";
  }

 private:
  struct Ticket {
    std::size_t group = 0;
    Deadline deadline;
    bool ready = true;
  };
  using Key = std::pair<int, std::uint64_t>;  // rank, ticket

  static AssemblyOptions options() {
    AssemblyOptions options;
    options.world = world;
    options.dead_after = std::chrono::hours(1);
    return options;
  }

  void send(SessionId to, std::string_view frames) override {
    wire::FrameReader reader(wire::largest_answer);
    reader.append(frames);
    while (const auto message = reader.next()) {
      wire::FieldReader in(*message);
      const auto kind = static_cast<Answer>(in.u8());
      if (kind != Answer::released && kind != Answer::failed) continue;
      const auto holder = std::find(session_.begin(), session_.end(), to);
      ASSERT_NE(holder, session_.end()) << "an answer to nobody";
      const std::uint64_t ticket = in.u64();
      Ending ending;
      ending.released = kind == Answer::released;
      if (ending.released) {
        EXPECT_GT(in.u64(), 0U) << "a generation";
        EXPECT_EQ(in.u64(), 0U) << "an opening";
      } else {
        const MeetingReport report = read_report(in);
        ending.cause = report.cause;
        ending.report = report.to_text();
      }
      EXPECT_TRUE(in.done());
      const Key key{static_cast<int>(holder - session_.begin()), ticket};
      EXPECT_TRUE(ended_.emplace(key, ending).second) << "a ticket was answered twice";
    }
  }
  void close(SessionId) override {}

  void say(int rank, const std::string& frame) { assembly_.received(session_[rank], std::string_view(frame).substr(4), now_); }

  void join(int rank) {
    session_[rank] = next_session_++;
    Hello hello;
    hello.world = world;
    hello.rank = static_cast<std::uint32_t>(rank);
    say(rank, message(Request::hello, [&](wire::FieldWriter& out) { hello.append_to(out); }));
  }

  void die(int rank) {
    const SessionId session = session_[rank];
    session_[rank] = 0;
    std::erase_if(waiting_, [rank](const auto& entry) { return entry.first.first == rank; });
    assembly_.closed(session, {}, now_);
  }

  void pass(milliseconds time) {
    now_ += time;
    assembly_.tick(now_);
  }

  void arrive(int rank) {
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < groups().size(); ++i) {
      if (std::count(groups()[i].ranks.begin(), groups()[i].ranks.end(), rank) != 0) own.push_back(i);
    }
    Ticket ticket;
    ticket.group = own[random_() % own.size()];
    // One meeting of a group at a time: the model is about members, the turns of a group have tests of their own.
    for (const auto& [key, other] : waiting_) {
      if (key.first == rank && other.group == ticket.group) return;
    }
    if (random_() % 2 == 0) ticket.deadline = now_ + milliseconds(1 + random_() % 300);
    ticket.ready = random_() % 4 != 0;
    const std::uint64_t number = next_ticket_++;
    waiting_[{rank, number}] = ticket;
    const Group& group = groups()[ticket.group];
    say(rank, message(Request::arrive, [&](wire::FieldWriter& out) {
          out.u64(number);
          Call{group.name, group.ranks, "barrier", "schedule_test.cc:1"}.append_to(out);
          out.u8(ticket.ready ? 0 : 1).i64(ticket.deadline ? std::chrono::nanoseconds(*ticket.deadline - now_).count() : -1);
          out.i64(never_gives_up).u64(0).u64(0);
        }));
  }

  void act() {
    const int rank = static_cast<int>(random_() % world);
    const unsigned what = random_() % 100;
    if (session_[rank] == 0) {
      if (what < 50) join(rank);
    } else if (what < 60) {
      arrive(rank);
    } else if (what < 75) {
      for (auto& [key, ticket] : waiting_) {
        if (key.first != rank || ticket.ready) continue;
        ticket.ready = true;
        const std::uint64_t number = key.second;
        return say(rank, message(Request::ready, [&](wire::FieldWriter& out) { out.u64(number); }));
      }
    } else if (what < 80) {
      for (const auto& [key, ticket] : waiting_) {
        if (key.first != rank) continue;
        const std::uint64_t number = key.second;
        waiting_.erase(key);
        return say(rank, message(Request::withdraw, [&](wire::FieldWriter& out) { out.u64(number); }));
      }
    } else if (what < 83) {
      die(rank);
    } else {
      pass(milliseconds(random_() % 60));
    }
  }

  std::vector<Key> at(std::size_t group) const {
    std::vector<Key> keys;
    for (const auto& [key, ticket] : waiting_) {
      if (ticket.group == group) keys.push_back(key);
    }
    return keys;
  }

  // Each group is at one meeting; what the model says of it must be what was answered since the last step.
  void check() {
    std::set<std::size_t> deadlocked;
    for (const auto& [key, ending] : ended_) {
      if (!ending.released && ending.cause == MeetingReport::Cause::deadlock) deadlocked.insert(waiting_.at(key).group);
    }
    if (!deadlocked.empty()) {
      // What ended in another way at the same moment did so before.
      const std::map<Key, Ticket> all = waiting_;
      std::erase_if(waiting_, [this](const auto& entry) {
        const auto found = ended_.find(entry.first);
        return found != ended_.end() && (found->second.released || found->second.cause != MeetingReport::Cause::deadlock);
      });
      EXPECT_TRUE(is_circle(deadlocked)) << "no circle was called a deadlock";
      waiting_ = all;
    }
    for (std::size_t group = 0; group < groups().size(); ++group) {
      const std::vector<Key> came = at(group);
      if (came.empty()) continue;
      const std::vector<int>& ranks = groups()[group].ranks;
      const bool somebody_died = std::any_of(ranks.begin(), ranks.end(), [this](int rank) { return session_[rank] == 0; });
      const bool all_ready = came.size() == ranks.size() &&
                             std::all_of(came.begin(), came.end(), [this](const Key& key) { return waiting_.at(key).ready; });
      const bool late = std::any_of(came.begin(), came.end(), [this](const Key& key) {
        return waiting_.at(key).deadline && *waiting_.at(key).deadline <= now_;
      });
      std::set<std::string> reports;
      for (const Key& key : came) {
        const auto found = ended_.find(key);
        if (found == ended_.end()) {
          EXPECT_FALSE(all_ready) << "a complete meeting was not released";
          EXPECT_FALSE(somebody_died) << "a death was not told";
          EXPECT_FALSE(late) << "a deadline was not kept";
          continue;
        }
        reports.insert(found->second.report);
        if (found->second.released) {
          EXPECT_TRUE(all_ready) << "released too early";
        } else if (found->second.cause == MeetingReport::Cause::member_lost) {
          EXPECT_TRUE(somebody_died);
        } else if (found->second.cause == MeetingReport::Cause::timed_out) {
          EXPECT_TRUE(std::any_of(came.begin(), came.end(), [this](const Key& other) {
            return waiting_.at(other).deadline && *waiting_.at(other).deadline <= now_;
          }));
        }
      }
      const auto answered = std::count_if(came.begin(), came.end(), [this](const Key& key) { return ended_.contains(key); });
      EXPECT_TRUE(answered == 0 || answered == static_cast<std::ptrdiff_t>(came.size())) << "only some were told";
      EXPECT_LE(reports.size(), 1U) << "the reports differ";
    }
    for (const auto& [key, ending] : ended_) waiting_.erase(key);
    ended_.clear();
  }

  // Every member that a meeting of the set lacks is alive, waits, and waits only inside the set.
  bool is_circle(const std::set<std::size_t>& set) const {
    for (const std::size_t group : set) {
      const std::vector<Key> came = at(group);
      if (came.empty() || came.size() == groups()[group].ranks.size()) return false;
      for (const int rank : groups()[group].ranks) {
        if (std::any_of(came.begin(), came.end(), [rank](const Key& key) { return key.first == rank; })) continue;
        bool waits = false;
        for (const auto& [key, ticket] : waiting_) {
          if (key.first != rank) continue;
          waits = true;
          if (!set.contains(ticket.group)) return false;
        }
        if (!waits || session_[rank] == 0) return false;
      }
    }
    return !set.empty();
  }

  bool a_circle_stands() const {
    for (unsigned bits = 1; bits < 1U << groups().size(); ++bits) {
      std::set<std::size_t> set;
      for (std::size_t i = 0; i < groups().size(); ++i) {
        if ((bits >> i & 1U) != 0U) set.insert(i);
      }
      if (is_circle(set)) return true;
    }
    return false;
  }

  std::minstd_rand random_;
  Time now_{std::chrono::hours(1)};
  std::array<SessionId, world> session_{};
  SessionId next_session_ = 1;
  std::uint64_t next_ticket_ = 1;
  std::map<Key, Ticket> waiting_;
  std::map<Key, Ending> ended_;
  Assembly assembly_;
};

TEST(RandomSchedules, EndEveryMeetingAsTheModelSaysAndAlikeForAll) {
  const char* given = std::getenv("TUTTI_TEST_SEED");
  const unsigned first = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : 1;
  for (unsigned seed = first; seed < first + (given != nullptr ? 1 : schedules); ++seed) {
    Schedule(seed).run();
    ASSERT_FALSE(HasFailure()) << "again with TUTTI_TEST_SEED=" << seed;
  }
}

}  // namespace
}  // namespace tutti::control
