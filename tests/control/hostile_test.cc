#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/socket.h>

#include <ctime>
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
  stranger.prove(secret_of_tests);
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

TEST(Strangers, ThatWaitToBeHeardKeepNoCoreBusy) {
  CoordinatorOptions options;
  options.greeting_limit = milliseconds(20'000);
  const Served served(1, options);
  std::vector<std::unique_ptr<RawConnection>> crowd;
  for (int i = 0; i < 700; ++i) crowd.push_back(std::make_unique<RawConnection>(served.address()));
  const auto used = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  const auto before = used();
  poll(nullptr, 0, 1'000);  // in which it hears four times 128 of them; a core that spins uses 800 of these and more
  EXPECT_LT(used() - before, milliseconds(500));
}

TEST(AHandshake, ThatIsReplayedOpensNothing) {
  const Served served(2);
  RawConnection honest(served.address());
  const std::string recorded = honest.prove(secret_of_tests);
  RawConnection replay(served.address());
  replay.say(recorded);
  replay.wait_for_end();
}

TEST(AHandshake, WithAnotherSecretOpensNothing) {
  const Served served(2);
  EXPECT_THROW(RawConnection(served.address()).prove("a secret of others"), std::runtime_error);
}

// What ends a member's connection, and how the others hear of it.
void expect_dropped(const std::function<void(RawConnection&)>& misbehave, const std::string& how) {
  const Served served(2);
  const auto zero = served.join(0);
  const auto waiting = arrive_before_others(*zero, meeting_of(2, "barrier"));
  RawConnection bad(served.address());
  bad.take_seat(secret_of_tests, 1, 2);
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
                         out.u8(0).i64(-1).i64(control::never_gives_up).u64(0).u64(0);
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
    recorded.take_seat(secret_of_tests, 1, 2);
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
  bad.take_seat(secret_of_tests, 1, 2);
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
  greedy.take_seat(secret_of_tests, 1, 2);
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
  explicit Impostor(std::string says) : listener_(wire::listen_on("127.0.0.1:0", {})), says_(std::move(says)) {
    thread_ = std::thread([this] {
      if (!wire::wait_until(listener_.get(), true, Clock::now() + std::chrono::seconds(60))) return;
      const wire::Descriptor fd(accept(listener_.get(), nullptr, nullptr));
      send(fd.get(), says_.data(), says_.size(), MSG_NOSIGNAL);
      char buffer[256];
      for (ssize_t got = 0; (got = recv(fd.get(), buffer, sizeof buffer, 0)) > 0;) heard_ += static_cast<std::size_t>(got);
    });
  }
  ~Impostor() {
    if (thread_.joinable()) thread_.join();
  }
  Impostor(const Impostor&) = delete;
  Impostor& operator=(const Impostor&) = delete;

  std::string refusal() {
    Membership who;
    who.coordinator = wire::bound_address(listener_.get());
    who.secret = secret_of_tests;
    try {
      Member::join(who, {});
    } catch (const JoinRefused& error) {
      return error.what();
    }
    return "joined";
  }
  // So many bytes, until it was hung up on.
  std::size_t heard() {
    thread_.join();
    return heard_;
  }

 private:
  wire::Descriptor listener_;
  std::string says_;
  std::size_t heard_ = 0;
  std::thread thread_;
};

// The first that a coordinator says, by this key and under this name.
std::string greeting(const std::string& name, const std::string& secret) {
  struct Said final : wire::Transport {
    std::ptrdiff_t send(const char* data, std::size_t size) noexcept override {
      bytes.append(data, size);
      return static_cast<std::ptrdiff_t>(size);
    }
    std::ptrdiff_t receive(char* /*data*/, std::size_t /*size*/) noexcept override { return 0; }
    std::string bytes;
  };
  Said said;
  wire::TlsSession::client(said, name, wire::control_key(secret)).handshake();
  return said.bytes;
}

TEST(AnImpostor, IsNotJoinedAndHearsNoProof) {
  Impostor server("HTTP/1.1 400 Bad Request\r\n\r\n");
  EXPECT_THAT(server.refusal(), HasSubstr("is none of ours"));
  Impostor guesses(greeting("tutti coordinator 3", "a secret of others"));
  EXPECT_THAT(guesses.refusal(), HasSubstr("does not know the job's secret"));
  // An alert, of which the length tells nothing.
  EXPECT_LT(guesses.heard(), 16U);
  Impostor other_version(greeting("tutti coordinator 9", secret_of_tests));
  EXPECT_THAT(other_version.refusal(), HasSubstr("speaks version 9, this process 3"));
}

}  // namespace
}  // namespace tutti
