#include "tutti/mesh/wire/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace tutti::wire {
namespace {

std::string hex(const Digest& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : digest) {
    out += digits[byte >> 4U];
    out += digits[byte & 15U];
  }
  return out;
}

// FIPS 180-4, examples of NIST.
TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(hex(Sha256().finish()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(Sha256().update("abc").finish()), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(Sha256().update("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").finish()),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(Sha256().update(std::string(1'000'000, 'a')).finish()),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotMindHowTheMessageIsCut) {
  const std::string whole(517, 'x');
  const std::string expected = hex(Sha256().update(whole).finish());
  for (std::size_t cut = 0; cut <= whole.size(); cut += 11) {
    const std::string_view view = whole;
    EXPECT_EQ(hex(Sha256().update(view.substr(0, cut)).update(view.substr(cut)).finish()), expected) << cut;
  }
}

// RFC 4231, test cases 1, 2, 3, 6 and 7.
TEST(KeyedHash, GivesThePublishedDigests) {
  EXPECT_EQ(hex(keyed_hash(std::string(20, '\x0b'), {"Hi There"})),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(keyed_hash("Jefe", {"what do ya want ", "for nothing?"})),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(keyed_hash(std::string(20, '\xaa'), {std::string(50, '\xdd')})),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(hex(keyed_hash(std::string(131, '\xaa'), {"Test Using Larger Than Block-Size Key - Hash Key First"})),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(hex(keyed_hash(std::string(131, '\xaa'),
                           {"This is a test using a larger than block-size key and a larger than block-size data. The key needs "
                            "to be hashed before being used by the HMAC algorithm."})),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(SameDigest, ToldApartByOneBit) {
  const std::string a(32, 'a');
  EXPECT_TRUE(same_digest(a, std::string(32, 'a')));
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::string b = a;
    b[i] = static_cast<char>(b[i] ^ 1);
    EXPECT_FALSE(same_digest(a, b)) << i;
  }
  EXPECT_FALSE(same_digest(a, a.substr(1)));
}

}  // namespace
}  // namespace tutti::wire
