#include "tutti/mesh/wire/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tutti::wire {

namespace {

// The fractional parts of the cube roots of the first 64 primes (FIPS 180-4).
constexpr std::array<std::uint32_t, 64> round_constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t read_big_endian(const std::uint8_t* at) noexcept {
  return std::uint32_t{at[0]} << 24U | std::uint32_t{at[1]} << 16U | std::uint32_t{at[2]} << 8U | std::uint32_t{at[3]};
}

}  // namespace

void Sha256::compress(const std::uint8_t* block) noexcept {
  std::array<std::uint32_t, 64> words{};
  for (std::size_t i = 0; i < 16; ++i) words[i] = read_big_endian(block + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = words[i - 15];
    const std::uint32_t b = words[i - 2];
    words[i] = words[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3U)) + words[i - 7] +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10U));
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t first =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + round_constants[i] + words[i];
    const std::uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const std::array<std::uint32_t, 8> added{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < added.size(); ++i) state_[i] += added[i];
}

Sha256& Sha256::update(std::string_view data) noexcept {
  length_ += data.size();
  while (!data.empty()) {
    const std::size_t taken = std::min(data.size(), block_.size() - filled_);
    std::memcpy(block_.data() + filled_, data.data(), taken);
    data.remove_prefix(taken);
    filled_ += taken;
    if (filled_ < block_.size()) break;
    compress(block_.data());
    filled_ = 0;
  }
  return *this;
}

Digest Sha256::finish() noexcept {
  const std::uint64_t bits = length_ * 8;
  static constexpr std::array<char, 64> padding{'\x80'};
  const std::size_t zeros = filled_ < 56 ? 56 - filled_ : 120 - filled_;
  update({padding.data(), zeros});
  std::array<char, 8> tail{};
  for (std::size_t i = 0; i < 8; ++i) tail[i] = static_cast<char>(bits >> (56 - 8 * i));
  update({tail.data(), tail.size()});
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest keyed_hash(std::string_view key, std::initializer_list<std::string_view> parts) noexcept {
  std::array<char, 64> inner{};
  if (key.size() > inner.size()) {
    const Digest short_key = Sha256().update(key).finish();
    std::memcpy(inner.data(), short_key.data(), short_key.size());
  } else if (!key.empty()) {
    std::memcpy(inner.data(), key.data(), key.size());
  }
  std::array<char, 64> outer = inner;
  for (char& byte : inner) byte = static_cast<char>(byte ^ '\x36');
  for (char& byte : outer) byte = static_cast<char>(byte ^ '\x5c');
  Sha256 hash;
  hash.update({inner.data(), inner.size()});
  for (const std::string_view part : parts) hash.update(part);
  const Digest first = hash.finish();
  return Sha256().update({outer.data(), outer.size()}).update(as_text(first)).finish();
}

bool same_digest(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace tutti::wire
