#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "control/open_files.h"
#include "control/served.h"
#include "tutti/base/text.h"

namespace tutti {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int crowd = 100;
#else
constexpr int crowd = 1'000;
#endif

TEST(ACrowd, OfAThousandIdleMembersMeetsAndLeaves) {
  constexpr rlim_t needed = crowd * 5 + 100;
  if (!may_open(needed)) GTEST_SKIP() << "needs " << needed << " open files, which this user may not have";
  CoordinatorOptions options;
  options.dead_after = milliseconds(60'000);  // a thousand threads take their time on two cores
  const Served served(crowd, options);
  MemberOptions patient;
  patient.dead_after = milliseconds(60'000);
  const auto members = served.join_all(patient);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<Arrival>> arrivals;
    for (const auto& member : members) arrivals.push_back(member->arrive(meeting_of(crowd, text("barrier ", round))));
    for (const auto& arrival : arrivals) arrival->wait();
  }
}

}  // namespace
}  // namespace tutti
