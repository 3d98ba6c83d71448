#include "tutti/mesh/wire/handshake.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tutti::wire {
namespace {

TEST(AHandshake, ReadsWhatWasWritten) {
  Challenge challenge;
  challenge.nonce = fresh_nonce();
  std::string out;
  challenge.append_to(out);
  const auto read = Challenge::read(out);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->nonce, challenge.nonce);
  Response response;
  response.nonce = fresh_nonce();
  response.proof = as_text(proof("secret", Side::member, challenge.nonce, response.nonce));
  out.clear();
  response.append_to(out);
  const auto answered = Response::read(out);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->proof, response.proof);
  EXPECT_EQ(answered->nonce, response.nonce);
}

TEST(AHandshake, OfAnotherVersionIsToldApartFromNoise) {
  Challenge challenge;
  challenge.version = 7;
  challenge.nonce = "another length";
  std::string out;
  challenge.append_to(out);
  const auto read = Challenge::read(out);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->version, 7);
  EXPECT_FALSE(Challenge::read("HTTP/1.1 400 Bad Request\r\n\r\n"));
  EXPECT_FALSE(Challenge::read(""));
}

TEST(AHandshake, CutShortOrTooLongIsNone) {
  Challenge challenge;
  challenge.nonce = fresh_nonce();
  std::string out;
  challenge.append_to(out);
  for (std::size_t cut = 0; cut < out.size(); ++cut) EXPECT_FALSE(Challenge::read(std::string_view(out).substr(0, cut))) << cut;
  EXPECT_FALSE(Challenge::read(out + "x"));
  std::string response(2 + nonce_size + 32, 'r');
  EXPECT_TRUE(Response::read(response));
  EXPECT_FALSE(Response::read(response + "x"));
  response.pop_back();
  EXPECT_FALSE(Response::read(response));
}

TEST(AProof, DependsOnSecretSideAndBothNonces) {
  const std::string a = fresh_nonce();
  const std::string b = fresh_nonce();
  std::set<Digest> proofs;
  for (const std::string secret : {"one", "two"}) {
    for (const Side side : {Side::member, Side::coordinator}) {
      for (const auto& [first, second] : {std::pair(a, b), std::pair(b, a), std::pair(a, a)})
        proofs.insert(proof(secret, side, first, second));
    }
  }
  EXPECT_EQ(proofs.size(), 12U);
}

TEST(Nonces, AreFresh) {
  std::set<std::string> nonces;
  for (int i = 0; i < 100; ++i) nonces.insert(fresh_nonce());
  EXPECT_EQ(nonces.size(), 100U);
  EXPECT_NE(fresh_number(), fresh_number());
}

}  // namespace
}  // namespace tutti::wire
