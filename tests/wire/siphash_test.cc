#include "tutti/mesh/wire/siphash.h"

#include <gtest/gtest.h>

#include <string>

namespace tutti::wire {
namespace {

// The key 00 01 ... 0f and messages 00 01 02 ... of the reference's table.
constexpr SipKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
constexpr std::uint64_t first = 0x0706050403020100;

TEST(SipHash, GivesThePublishedValue) {
  EXPECT_EQ(siphash(key, first, std::string("\x08\x09\x0a\x0b\x0c\x0d\x0e", 7)), 0xa129ca6149be45e5U);
}

TEST(SipHash, DependsOnKeyLengthAndEveryByte) {
  const std::string message(20, 'm');
  const std::uint64_t whole = siphash(key, first, message);
  EXPECT_NE(whole, siphash({key[0] ^ 1, key[1]}, first, message));
  EXPECT_NE(whole, siphash({key[0], key[1] ^ 1}, first, message));
  EXPECT_NE(whole, siphash(key, first + 1, message));
  EXPECT_NE(siphash(key, first, std::string(3, '\0')), siphash(key, first, std::string(4, '\0')));
  for (std::size_t i = 0; i < message.size(); ++i) {
    std::string changed = message;
    changed[i] = 'n';
    EXPECT_NE(whole, siphash(key, first, changed)) << i;
  }
}

}  // namespace
}  // namespace tutti::wire
