#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "control/raw_connection.h"
#include "control/served.h"

namespace tutti {
namespace {

using control::Answer;
using control::Request;
using testing::HasSubstr;

CoordinatorOptions hurried() {
  CoordinatorOptions options;
  options.greeting_limit = milliseconds(100);
  return options;
}

TEST(AStranger, ThatTalksNonsenseIsHungUpOn) {
  const Served served(1);
  std::minstd_rand random(7);
  for (int i = 0; i < 50; ++i) {
    RawConnection stranger(served.address());
    std::string noise(1 + random() % 3000, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    noise[3] = '\x01';  // a frame of at least 16 MiB, so that no length is right by chance
    stranger.say(noise);
    stranger.wait_for_end();
  }
  EXPECT_NO_THROW(served.join(0)->put("key", "value"));
}

TEST(AStranger, ThatSaysNothingIsHungUpOnAfterAWhile) {
  const Served served(1, hurried());
  RawConnection silent(served.address());
  RawConnection slow(served.address());
  const auto begin = Clock::now();
  slow.say(std::string("\x40\x00\x00\x00 and then nothing", 20));
  silent.wait_for_end();
  slow.wait_for_end();
  EXPECT_LT(Clock::now() - begin, milliseconds(100) + slack);
}

TEST(AStranger, ThatKnowsTheSecretButTakesNoSeatIsHungUpOn) {
  const Served served(1, hurried());
  RawConnection stranger(served.address());
  stranger.prove("a secret");
  stranger.wait_for_end();
  EXPECT_NO_THROW(served.join(0)->put("key", "value"));
}

TEST(Strangers, InCrowdsDoNotKeepMembersOut) {
  const Served served(1);
  std::vector<std::unique_ptr<RawConnection>> crowd;
  for (int i = 0; i < 300; ++i) crowd.push_back(std::make_unique<RawConnection>(served.address()));
  const auto begin = Clock::now();
  served.join(0)->put("key", "value");
  EXPECT_LT(Clock::now() - begin, milliseconds(1'000) + slack);
}

TEST(AHandshake, ThatIsReplayedOpensNothing) {
  const Served served(2);
  RawConnection honest(served.address());
  const std::string recorded = honest.prove("a secret");
  ASSERT_EQ(honest.hear().value().size(), 32U);
  RawConnection replay(served.address());
  replay.hear();
  replay.say(RawConnection::framed(recorded));
  const std::string answer = replay.hear().value();
  EXPECT_EQ(static_cast<Answer>(answer.front()), Answer::refused);
  EXPECT_THAT(answer, HasSubstr("authentication failed"));
  replay.wait_for_end();
}

// What ends a member's connection, and how the others hear of it.
void expect_dropped(const std::function<void(RawConnection&)>& misbehave, const std::string& how) {
  const Served served(2);
  const auto zero = served.join(0);
  const auto waiting = arrive_before_others(*zero, meeting_of(2, "barrier"));
  RawConnection bad(served.address());
  bad.take_seat("a secret", 1, 2);
  misbehave(bad);
  bad.wait_for_end();
  const MeetingReport report = report_of<MemberLost>(*waiting);
  ASSERT_EQ(report.missing.size(), 1U);
  EXPECT_THAT(report.missing[0].how, HasSubstr(how));
  zero->put("still", "alive");
}

TEST(AMember, ThatSendsWhatIsNoMessageIsDroppedAndTheOthersGoOn) {
  expect_dropped([](const RawConnection& bad) { bad.say(std::string("\xff\xff\xff\x7f", 4)); },
                 "it sent a frame of");                                                                         // too long
  expect_dropped([](const RawConnection& bad) { bad.say(std::string("\0\0\0\0", 4)); }, "it sent a frame of");  // empty
  const std::vector<std::string> wrongs{
      RawConnection::framed("\xff"),                                                        // no such kind
      RawConnection::framed(std::string("\x03 short")),                                     // fields missing
      control::message(Request::ready, [](wire::FieldWriter& out) { out.u64(1).u64(2); }),  // more than all
      control::message(Request::arrive,
                       [](wire::FieldWriter& out) {
                         control::Call{"group", {0}, "not its own", ""}.append_to(out.u64(1));
                         out.u8(0).i64(-1).i64(control::never_gives_up).u64(0);
                       }),
      control::message(Request::beat, [](wire::FieldWriter& out) { out.text(std::string(1'000, 'x')); }),
      control::message(Request::hello, [](wire::FieldWriter& out) { control::Hello().append_to(out); }),
  };
  for (const std::string& wrong : wrongs)
    expect_dropped([&](RawConnection& bad) { bad.say_sealed(wrong); }, "it sent what is no message of ours");
}

std::string beat() {
  return control::message(Request::beat, [](wire::FieldWriter& out) { out.text("working"); });
}

// Somebody else writes to a member's connection.
TEST(AHijackedConnection, EndsWithTheFirstFrameThatItsMemberDidNotSeal) {
  const std::string unsealed = "it sent a frame that was not sealed by it";
  expect_dropped([](const RawConnection& bad) { bad.say(beat()); }, unsealed);
  expect_dropped([](const RawConnection& bad) { bad.say(RawConnection::framed(std::string(64, 'x'))); }, unsealed);
  const auto replay = [](RawConnection& bad) {
    const std::string once = bad.sealed(beat());
    bad.say(once + once);
  };
  expect_dropped(replay, unsealed);
  const auto drop_one = [](RawConnection& bad) {
    static_cast<void>(bad.sealed(beat()));
    bad.say_sealed(beat());
  };
  expect_dropped(drop_one, unsealed);
  const auto of_another_connection = [](RawConnection& bad) {
    const Served elsewhere(2);
    RawConnection recorded(elsewhere.address());
    recorded.take_seat("a secret", 1, 2);
    bad.say(recorded.sealed(beat()));
  };
  expect_dropped(of_another_connection, unsealed);
}

TEST(AMember, ThatDoesNotReadIsDropped) {
  CoordinatorOptions options;
  options.unread_limit = 1'000'000;
  const Served served(2, options);
  const auto zero = served.join(0);
  zero->put("large", std::string(100'000, 'x'));
  const auto waiting = arrive_before_others(*zero, meeting_of(2, "barrier"));
  RawConnection bad(served.address());
  bad.take_seat("a secret", 1, 2);
  for (std::uint64_t ticket = 1; ticket <= 300; ++ticket) {
    bad.say_sealed(
        control::message(Request::get, [&](wire::FieldWriter& out) { out.u64(ticket).text("large").ranks({}).u64(0); }));
  }
  const MeetingReport report = report_of<MemberLost>(*waiting);
  ASSERT_EQ(report.missing.size(), 1U);
  EXPECT_EQ(report.missing[0].how, "it did not read its messages");
}

TEST(AMember, MayHaveManyRequestsOpenButNotAnyNumber) {
  const Served served(2);
  RawConnection greedy(served.address());
  greedy.take_seat("a secret", 1, 2);
  for (std::uint64_t ticket = 1; ticket <= 1'025; ++ticket) {
    greedy.say_sealed(
        control::message(Request::get, [&](wire::FieldWriter& out) { out.u64(ticket).text("never").ranks({}).u64(0); }));
  }
  const std::string answer = greedy.hear().value();
  EXPECT_EQ(static_cast<Answer>(answer.front()), Answer::declined);
}

// Something that is no coordinator of the job answers at its address.
class Impostor {
 public:
  explicit Impostor(std::string says) : listener_(control::listen_on("127.0.0.1:0", {})), says_(std::move(says)) {
    thread_ = std::thread([this] {
      if (!control::wait_until(listener_.get(), true, Clock::now() + std::chrono::seconds(60))) return;
      const control::Descriptor fd(accept(listener_.get(), nullptr, nullptr));
      send(fd.get(), says_.data(), says_.size(), MSG_NOSIGNAL);
      char buffer[256];
      while (recv(fd.get(), buffer, sizeof buffer, 0) > 0) {}
    });
  }
  ~Impostor() { thread_.join(); }
  Impostor(const Impostor&) = delete;
  Impostor& operator=(const Impostor&) = delete;

  std::string refusal() {
    Membership who;
    who.coordinator = control::bound_address(listener_.get());
    who.secret = "a secret";
    try {
      Member::join(who, {});
    } catch (const JoinRefused& error) {
      return error.what();
    }
    return "joined";
  }

 private:
  control::Descriptor listener_;
  std::string says_;
  std::thread thread_;
};

TEST(AnImpostor, IsNotJoined) {
  EXPECT_THAT(Impostor("HTTP/1.1 400 Bad Request\r\n\r\n").refusal(), HasSubstr("is none of ours"));
  wire::Challenge challenge;
  challenge.nonce = wire::fresh_nonce();
  std::string greeting;
  challenge.append_to(greeting);
  const std::string greeted = RawConnection::framed(greeting);
  EXPECT_THAT(Impostor(greeted + RawConnection::framed(std::string(32, 'p'))).refusal(),
              HasSubstr("does not know the job's secret"));
  challenge.version = 9;
  greeting.clear();
  challenge.append_to(greeting);
  EXPECT_THAT(Impostor(RawConnection::framed(greeting)).refusal(), HasSubstr("speaks version 9, this process 2"));
}

}  // namespace
}  // namespace tutti
