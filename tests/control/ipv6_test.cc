// A job whose coordinator is reached by an IPv6 address.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "control/served.h"
#include "tutti/base/error.h"
#include "tutti/mesh/control/host_port.h"
#include "tutti/mesh/control/sockets.h"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class IPv6 : public testing::Test {
 protected:
  void SetUp() override {
    try {
      control::listen_on("[::1]:0", {});
    } catch (const InvalidState& e) {
      GTEST_SKIP() << "no IPv6 here: " << e.message();
    }
  }
  static CoordinatorOptions on(const std::string& listen) {
    CoordinatorOptions options;
    options.listen = listen;
    return options;
  }
};

TEST_F(IPv6, IsWhereACoordinatorListensAndMembersMeet) {
  const Served served(2, on("[::1]:0"));
  EXPECT_TRUE(served.address().starts_with("[::1]:")) << served.address();
  const auto parsed = parse_host_port(served.address());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->host, "::1");
  EXPECT_EQ(parsed->to_string(), served.address());
  const auto members = served.join_all();
  EXPECT_EQ(members[0]->local_host(), "::1") << "what others can reach it at";
  const auto first = members[0]->arrive(meeting_of(2, "barrier"));
  members[1]->arrive(meeting_of(2, "barrier"))->wait();
  first->wait();
}

TEST_F(IPv6, ListeningOnAllAddressesTakesInMembersOfBothFamilies) {
  const Served served(2, on("[::]:0"));
  const std::string port = served.address().substr(served.address().rfind(':'));
  Membership by_six = served.who(0);
  by_six.coordinator = "[::1]" + port;
  Membership by_four = served.who(1);
  by_four.coordinator = "127.0.0.1" + port;
  const auto six = Member::join(by_six, {});
  const auto four = Member::join(by_four, {});
  const auto first = six->arrive(meeting_of(2, "barrier"));
  four->arrive(meeting_of(2, "barrier"))->wait();
  first->wait();
  EXPECT_EQ(six->local_host(), "::1");
}

TEST_F(IPv6, ThatNobodyListensAtIsNamedWithItsBrackets) {
  Membership who;
  who.coordinator = "[::1]:1";
  who.secret = secret_of_tests;
  MemberOptions options;
  options.connect_timeout = milliseconds(100);
  try {
    Member::join(who, options);
    FAIL() << "joined nobody";
  } catch (const DeadlineExceeded& e) {
    EXPECT_THAT(e.message(), AllOf(HasSubstr("cannot join the job at [::1]:1"), HasSubstr("Connection refused")));
  }
}

}  // namespace
}  // namespace tutti
