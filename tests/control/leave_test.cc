// A member that takes leave while other threads of its process are still at it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>

#include "control/served.h"
#include "tutti/base/error.h"

namespace tutti {
namespace {

using testing::HasSubstr;

std::string said_to(const std::function<void()>& call) {
  try {
    call();
  } catch (const CoordinatorLost& lost) {
    return lost.message();
  }
  return "nothing";
}

TEST(Leaving, EndsWhatOtherThreadsWaitForAndWhatComesLater) {
  const Served served(2);
  const auto zero = served.join(0);
  const auto here = arrive_before_others(*zero, meeting_of(2, "barrier 'never'"));
  std::string at_a_meeting;
  std::string at_a_key;
  std::thread first([&] { at_a_meeting = said_to([&] { here->wait(); }); });
  std::thread second([&] { at_a_key = said_to([&] { zero->get("never put", {}); }); });
  zero->leave();
  first.join();
  second.join();
  for (const std::string& said : {at_a_meeting, at_a_key, said_to([&] { zero->put("late", ""); })}) {
    EXPECT_THAT(said, HasSubstr("this process has left the job"));
  }
  zero->leave();  // once is enough
}

TEST(Leaving, IsToldToThoseWhoWaitForIt) {
  const Served served(2);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  const auto here = one->arrive(meeting_of(2, "barrier 'last'"));
  zero->leave();
  EXPECT_THROW(here->wait(), MemberLost);
}

}  // namespace
}  // namespace tutti
