// Two ends that know the same key agree on new ones; whoever does not know it, or says something else, gets nowhere.
#include "tutti/mesh/wire/tls.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "wire/pipes.h"

namespace tutti::wire {

namespace {

struct Ends {
  Ends(const Key& clients, const Key& servers)
      : client(TlsSession::client(pipes.one, "somebody", clients)),
        server(TlsSession::server(pipes.other, [servers](std::string_view) { return servers; })) {}

  // As far as it goes: what the client and the server came to.
  std::pair<Progress, Progress> shake_hands() {
    std::pair<Progress, Progress> came_to{Progress::blocked, Progress::blocked};
    for (int i = 0; i < 10; ++i) {
      if (came_to.first == Progress::blocked) came_to.first = client.handshake();
      if (came_to.second == Progress::blocked) came_to.second = server.handshake();
    }
    return came_to;
  }

  Pipes pipes;
  TlsSession client;
  TlsSession server;
};

constexpr std::pair both_done{Progress::done, Progress::done};

std::string text_of(const Key& key) { return {reinterpret_cast<const char*>(key.data()), Key::size}; }

}  // namespace

TEST(Tls, EndsThatKnowTheSameKeyProveItInLessThanAKilobyteEach) {
  const Key key = Key::derive("a secret", "a purpose");
  Ends ends(key, key);
  ASSERT_EQ(ends.shake_hands(), both_done);
  EXPECT_EQ(ends.server.name(), "somebody");
  EXPECT_LT(ends.pipes.one.sent, largest_tls_greeting);
  EXPECT_LT(ends.pipes.other.sent, largest_tls_greeting);
}

TEST(Tls, EndsThatKnowDifferentKeysDoNotComeTogether) {
  Ends ends(Key::derive("a secret", "a purpose"), Key::derive("a secret", "another purpose"));
  const auto [client, server] = ends.shake_hands();
  EXPECT_NE(client, Progress::done);
  EXPECT_EQ(server, Progress::ended);
}

TEST(Tls, AServerThatKnowsNoSuchNameEnds) {
  Pipes pipes;
  TlsSession client = TlsSession::client(pipes.one, "nobody", Key::derive("a secret", "a purpose"));
  TlsSession server = TlsSession::server(pipes.other, [](std::string_view) { return std::nullopt; });
  EXPECT_EQ(client.handshake(), Progress::blocked);
  EXPECT_EQ(server.handshake(), Progress::ended);
  EXPECT_EQ(client.handshake(), Progress::ended);
}

TEST(Tls, ExportsKeysThatBothEndsShareAndNoOtherSessionHas) {
  const Key key = Key::derive("a secret", "a purpose");
  Ends ends(key, key);
  Ends others(key, key);
  ASSERT_EQ(ends.shake_hands(), both_done);
  ASSERT_EQ(others.shake_hands(), both_done);
  const std::string exported = text_of(ends.client.exported_key("one"));
  EXPECT_EQ(exported, text_of(ends.server.exported_key("one")));
  EXPECT_NE(exported, text_of(ends.client.exported_key("two")));
  EXPECT_NE(exported, text_of(others.client.exported_key("one")));
}

TEST(Tls, CarriesBytesThatAreNotSeenOnTheWay) {
  const Key key = Key::derive("a secret", "a purpose");
  Ends ends(key, key);
  ASSERT_EQ(ends.shake_hands(), both_done);
  std::size_t moved = 0;
  ASSERT_EQ(ends.client.write("nobody's business", moved), Progress::done);
  EXPECT_EQ(ends.pipes.of_one.find("business"), std::string::npos);
  std::string heard(100, '\0');
  ASSERT_EQ(ends.server.read(heard.data(), heard.size(), moved), Progress::done);
  EXPECT_EQ(heard.substr(0, moved), "nobody's business");
  EXPECT_EQ(ends.server.read(heard.data(), heard.size(), moved), Progress::blocked);
}

TEST(Tls, EveryByteOfAProofCounts) {
  const Key key = Key::derive("a secret", "a purpose");
  Ends whole(key, key);
  ASSERT_EQ(whole.client.handshake(), Progress::blocked);
  const std::size_t length = whole.pipes.of_one.size();
  for (std::size_t i = 0; i < length; ++i) {
    if (i == 1 || i == 2) continue;  // of a version that is kept for old machines between them, and means nothing
    Ends ends(key, key);
    EXPECT_EQ(ends.client.handshake(), Progress::blocked);
    ends.pipes.of_one.at(i) = static_cast<char>(ends.pipes.of_one.at(i) ^ 1);
    EXPECT_NE(ends.server.handshake(), Progress::done);
    EXPECT_NE(ends.shake_hands(), both_done) << "byte " << i;
  }
}

TEST(Tls, WhoTalksMoreThanAKilobyteBeforeItsProofIsNotHeardOut) {
  std::string nothing;
  std::string endless;
  // Records of a handshake, each as long as they may be.
  for (int i = 0; i < 8; ++i) endless += std::string("\x16\x03\x01\x40\x00\x01\x00\x3f\xfc", 9) + std::string(16'375, 'x');
  const std::size_t before = endless.size();
  PipeTransport transport(nothing, endless);
  TlsSession server = TlsSession::server(transport, [](std::string_view) { return std::nullopt; });
  Progress progress = Progress::blocked;
  for (int i = 0; i < 100 && progress == Progress::blocked; ++i) progress = server.handshake();
  EXPECT_EQ(progress, Progress::ended);
  EXPECT_LE(before - endless.size(), largest_tls_greeting);
}

// As Python's hmac module has it.
TEST(Key, IsHkdfOfTheSecret) {
  std::string hex;
  for (const char byte : text_of(Key::derive("a secret", "a purpose"))) {
    for (const int half : {static_cast<unsigned char>(byte) / 16, static_cast<unsigned char>(byte) % 16})
      hex += "0123456789abcdef"[half];
  }
  EXPECT_EQ(hex, "f77ee88934cf31d9f5661e086684d5413b40af091cfcf56e83823f9434acccb7");
}

}  // namespace tutti::wire
