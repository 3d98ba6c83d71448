#include "tutti/mesh/wire/seal.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tutti/mesh/wire/frames.h"

namespace tutti::wire {
namespace {

std::string frame_of(std::string_view message) {
  std::string out;
  const std::size_t begin = begin_frame(out);
  out += message;
  end_frame(out, begin);
  return out;
}

class Connection : public testing::Test {
 protected:
  // What a side would put on the wire, without the lengths.
  static std::vector<std::string> sealed(Seal& by, const std::string& frames) {
    std::string stream;
    by.close_onto(stream, frames);
    FrameReader reader(1000);
    reader.append(stream);
    std::vector<std::string> out;
    while (const auto message = reader.next()) out.emplace_back(*message);
    EXPECT_EQ(reader.held(), 0U);
    return out;
  }

  static Key of_member() { return Key::derive("a secret", "member"); }
  static Key of_coordinator() { return Key::derive("a secret", "coordinator"); }

  Seals member{Seal(of_member()), Seal(of_coordinator())};
  Seals coordinator{Seal(of_coordinator()), Seal(of_member())};
};

TEST_F(Connection, OpensWhatTheOtherEndSealedInItsOrder) {
  const auto there = sealed(member.outgoing, frame_of("first") + frame_of("second") + frame_of(std::string(300, 'x')));
  ASSERT_EQ(there.size(), 3U);
  EXPECT_EQ(coordinator.incoming.open(there[0]), "first");
  EXPECT_EQ(coordinator.incoming.open(there[1]), "second");
  EXPECT_EQ(coordinator.incoming.open(there[2]), std::string(300, 'x'));
  const auto back = sealed(coordinator.outgoing, frame_of("answer"));
  EXPECT_EQ(member.incoming.open(back.at(0)), "answer");
}

TEST_F(Connection, OpensNothingThatWasRepeatedLeftOutOrExchanged) {
  const auto frames = sealed(member.outgoing, frame_of("a") + frame_of("b") + frame_of("c"));
  Seal repeated(of_member());
  EXPECT_TRUE(repeated.open(frames[0]));
  EXPECT_FALSE(repeated.open(frames[0]));
  Seal left_out(of_member());
  EXPECT_TRUE(left_out.open(frames[0]));
  EXPECT_FALSE(left_out.open(frames[2]));
  Seal exchanged(of_member());
  EXPECT_FALSE(exchanged.open(frames[1]));
}

TEST_F(Connection, OpensNothingThatWasChangedInAnyBit) {
  const std::string whole = sealed(member.outgoing, frame_of("message")).at(0);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    Seal opens(of_member());
    EXPECT_FALSE(opens.open(changed)) << bit;
  }
  for (std::size_t length = 0; length < whole.size(); ++length) {
    Seal opens(of_member());
    EXPECT_FALSE(opens.open(std::string_view(whole).substr(0, length))) << length;
  }
}

TEST_F(Connection, CannotBeRead) {
  EXPECT_EQ(sealed(member.outgoing, frame_of("message")).at(0).find("message"), std::string::npos);
}

TEST_F(Connection, OpensNothingOfItsOwnOrOfAnotherConnection) {
  const std::string own = sealed(member.outgoing, frame_of("message")).at(0);
  EXPECT_FALSE(member.incoming.open(own)) << "sent back to its maker";
  Seal other(Key::derive("a secret", "another connection"));
  EXPECT_FALSE(other.open(own));
}

}  // namespace
}  // namespace tutti::wire
