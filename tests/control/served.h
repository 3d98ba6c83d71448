// A coordinator on a thread of its own, and members that join it over loopback.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tutti/mesh/control/coordinator.h"
#include "tutti/mesh/control/member.h"

namespace tutti {

using std::chrono::milliseconds;

// "Within deadline + 1 s" on any machine.
inline constexpr milliseconds slack{1'000};

inline constexpr const char* secret_of_tests = "a secret of tests, and no more";

class Served {
 public:
  explicit Served(int world, CoordinatorOptions options = {}) : world_(world) {
    options.world = world;
    options.job = "test";
    options.secret = secret_of_tests;
    coordinator_ = Coordinator::open(options);
    thread_ = std::thread([this] { coordinator_->serve(); });
  }
  ~Served() { stop(); }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  void stop() {
    if (!thread_.joinable()) return;
    coordinator_->stop();
    thread_.join();
  }
  void wait_for_end() { thread_.join(); }
  // Its sockets are closed, as if its process had died.
  void kill() {
    stop();
    coordinator_.reset();
  }

  [[nodiscard]] std::string address() const { return coordinator_->address(); }
  [[nodiscard]] Membership who(int rank) const {
    Membership who;
    who.rank = rank;
    who.world = world_;
    who.coordinator = coordinator_->address();
    who.job = "test";
    who.secret = secret_of_tests;
    return who;
  }
  [[nodiscard]] std::shared_ptr<Member> join(int rank, const MemberOptions& options = {}) const {
    return Member::join(who(rank), options);
  }
  [[nodiscard]] std::vector<std::shared_ptr<Member>> join_all(const MemberOptions& options = {}) const {
    std::vector<std::shared_ptr<Member>> members;
    for (int rank = 0; rank < world_; ++rank) members.push_back(join(rank, options));
    return members;
  }

 private:
  int world_;
  std::unique_ptr<Coordinator> coordinator_;
  std::thread thread_;
};

inline std::vector<int> ranks_of(int world) {
  std::vector<int> ranks;
  for (int rank = 0; rank < world; ++rank) ranks.push_back(rank);
  return ranks;
}

inline Meeting meeting_of(int world, std::string what, Deadline deadline = {}, Site site = {}) {
  Meeting meeting;
  meeting.group = "world";
  meeting.ranks = ranks_of(world);
  meeting.what = std::move(what);
  meeting.deadline = deadline;
  meeting.site = site;
  return meeting;
}

// Comes, and comes back when the coordinator knows of it: members' messages overtake each other.
inline std::unique_ptr<Arrival> arrive_before_others(Member& member, const Meeting& meeting) {
  auto arrival = member.arrive(meeting);
  member.put("arrived", "");
  return arrival;
}

template <class Failure>
MeetingReport report_of(Arrival& arrival) {
  try {
    arrival.wait();
  } catch (const Failure& failure) {
    return failure.report;
  }
  throw std::logic_error("the meeting took place");
}

}  // namespace tutti
