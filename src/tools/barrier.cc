#include "tools/barrier.h"

#include <iostream>
#include <numeric>
#include <source_location>

#include "tutti/base/clock.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/join_job.h"
#include "tutti/mesh/control/member.h"
#include "tutti/mesh/control/membership.h"

namespace tutti::tools {

namespace {

constexpr int exit_failed = 1;
// Who is given no time waits for rank 0 as for any other.
constexpr std::chrono::hours without_limit{24 * 365};

void meet(const BarrierOptions& options) {
  const Deadline deadline = deadline_after(options.timeout);
  const Membership who = membership_from_environment();
  if (who.coordinator.empty() && !who.rank_0_starts_coordinator) {
    std::cerr << (who.launcher.empty()
                      ? std::string("tutti: no launcher's variables were found; this rank is alone and goes on\n")
                      : text("tutti: ", who.launcher, " started one rank; it goes on\n"));
    return;
  }
  const std::string what = text("barrier '", options.name, "'");
  MemberOptions seat;
  seat.comes_back = true;  // for the script's next barrier
  seat.doing = [what] { return text("tutti ", what); };
  if (options.timeout) {
    seat.connect_timeout = *options.timeout;
  } else if (who.rank_0_starts_coordinator) {
    seat.connect_timeout = without_limit;
  }
  const auto member = join_job(who, seat);
  Meeting meeting;
  meeting.group = "tutti barrier";
  meeting.ranks.resize(static_cast<std::size_t>(who.world));
  std::iota(meeting.ranks.begin(), meeting.ranks.end(), 0);
  meeting.what = what;
  meeting.deadline = deadline;
  meeting.site = Site(std::source_location());  // the script's place is not known
  member->arrive(meeting)->wait();
}

}  // namespace

int run_barrier(const BarrierOptions& options) {
  try {
    meet(options);
    return 0;
  } catch (const MeetingFailed& error) {
    std::cerr << text("tutti: error: ", error.report.to_text(), "\n");
  }
  return exit_failed;
}

}  // namespace tutti::tools
