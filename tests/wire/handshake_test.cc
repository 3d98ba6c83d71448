#include "tutti/mesh/wire/handshake.h"

#include <gtest/gtest.h>

#include <string>

#include "wire/pipes.h"

namespace tutti::wire {
namespace {

struct TwoSides {
  TwoSides(const std::string& members_secret, const std::string& coordinators_secret)
      : member(begin_handshake(Side::member, pipes.one, control_key(members_secret))),
        coordinator(begin_handshake(Side::coordinator, pipes.other, control_key(coordinators_secret))) {}

  Pipes pipes;
  TlsSession member;
  TlsSession coordinator;
};

TEST(AHandshake, LetsBothEndsSealForEachOther) {
  TwoSides sides("a secret", "a secret");
  ASSERT_EQ(sides.member.handshake(), Progress::blocked) << "the coordinator speaks first";
  ASSERT_EQ(sides.coordinator.handshake(), Progress::blocked);
  ASSERT_EQ(sides.member.handshake(), Progress::blocked);
  ASSERT_EQ(sides.coordinator.handshake(), Progress::done);
  ASSERT_EQ(sides.member.handshake(), Progress::done);
  EXPECT_EQ(version_of(sides.member), protocol_version);
  Seals of_member = seals_of(sides.member, Side::member);
  Seals of_coordinator = seals_of(sides.coordinator, Side::coordinator);
  std::string sealed;
  of_member.outgoing.close_onto(sealed, std::string("\x05\0\0\0hello", 9));
  EXPECT_EQ(of_coordinator.incoming.open(std::string_view(sealed).substr(4)), "hello");
  sealed.clear();
  of_coordinator.outgoing.close_onto(sealed, std::string("\x06\0\0\0answer", 10));
  EXPECT_EQ(of_member.incoming.open(std::string_view(sealed).substr(4)), "answer");
}

// Who answers at the coordinator's address and does not know the secret gets nothing to guess it from.
TEST(AHandshake, ShowsNothingOfTheMembersSecretToWhoDoesNotKnowIt) {
  TwoSides sides("a secret", "another secret");
  ASSERT_EQ(sides.coordinator.handshake(), Progress::blocked);
  ASSERT_EQ(sides.member.handshake(), Progress::ended);
  EXPECT_EQ(version_of(sides.member), protocol_version) << "it knows that the secret was wrong, and not the version";
  EXPECT_EQ(sides.pipes.of_one.size(), 7U) << "one alert";
  EXPECT_EQ(sides.coordinator.handshake(), Progress::ended);
}

TEST(AHandshake, TellsAnotherVersion) {
  Pipes pipes;
  TlsSession later = TlsSession::client(pipes.other, "tutti coordinator 9", control_key("a secret"));
  TlsSession member = begin_handshake(Side::member, pipes.one, control_key("a secret"));
  ASSERT_EQ(later.handshake(), Progress::blocked);
  ASSERT_EQ(member.handshake(), Progress::ended);
  EXPECT_EQ(version_of(member), 9);
}

}  // namespace
}  // namespace tutti::wire
