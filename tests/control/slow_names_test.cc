// A server of names that does not answer delays nobody beyond the deadline.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <atomic>
#include <future>
#include <string_view>

#include "control/served.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/join_job.h"

namespace tutti {
namespace {

constexpr std::string_view slow_name = "slow.example";  // this host, once the server answers

std::atomic<bool> answers = false;

}  // namespace
}  // namespace tutti

// Instead of the C library's, in this program.
extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* hints, addrinfo** found) {
  static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  const bool is_asked = (hints->ai_flags & AI_NUMERICHOST) == 0;
  if (host == nullptr || host != tutti::slow_name || !is_asked) return real(host, port, hints, found);
  tutti::answers.wait(false);
  return real("127.0.0.1", port, hints, found);
}

namespace tutti {
namespace {

using testing::HasSubstr;

class SlowNames : public testing::Test {
 protected:
  void SetUp() override {
    who_.world = 1;
    who_.secret = secret_of_tests;
    options_.connect_timeout = milliseconds(200);
  }
  void TearDown() override { answer(); }

  static void answer() {
    answers = true;
    answers.notify_all();
  }
  template <class Join>
  std::string why_late(Join join) {
    const auto begin = Clock::now();
    try {
      join(who_, options_, Site());
      return "joined";
    } catch (const DeadlineExceeded& error) {
      EXPECT_LT(Clock::now() - begin, options_.connect_timeout + slack);
      return error.what();
    }
  }

  Membership who_;
  MemberOptions options_;
};

TEST_F(SlowNames, DoNotDelayAMemberBeyondItsDeadline) {
  who_.coordinator = text(slow_name, ":1234");
  EXPECT_THAT(why_late(Member::join), HasSubstr("the name slow.example was not resolved in time"));
}

TEST_F(SlowNames, DoNotDelayWhoStartsTheCoordinatorBeyondItsDeadline) {
  who_.coordinator = text(slow_name, ":1234");
  who_.job = "slow names test";
  who_.rank_0_starts_coordinator = true;
  EXPECT_THAT(why_late([](const Membership& who, const MemberOptions& options, Site site) { join_job(who, options, site); }),
              HasSubstr("the name slow.example was not resolved in time"));
}

TEST_F(SlowNames, AreWaitedForUntilThen) {
  const Served served(1);
  who_ = served.who(0);
  who_.coordinator = text(slow_name, served.address().substr(served.address().rfind(':')));
  options_.connect_timeout = milliseconds(30'000);
  auto joined = std::async(std::launch::async, [&] { return Member::join(who_, options_); });
  EXPECT_EQ(joined.wait_for(milliseconds(50)), std::future_status::timeout);
  answer();
  EXPECT_NE(joined.get(), nullptr);
}

}  // namespace
}  // namespace tutti
