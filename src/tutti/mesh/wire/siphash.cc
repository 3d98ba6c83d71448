#include "tutti/mesh/wire/siphash.h"

#include <bit>
#include <cstddef>

namespace tutti::wire {

namespace {

struct State {
  std::uint64_t a, b, c, d;

  void round() noexcept {
    a += b;
    b = std::rotl(b, 13) ^ a;
    a = std::rotl(a, 32);
    c += d;
    d = std::rotl(d, 16) ^ c;
    a += d;
    d = std::rotl(d, 21) ^ a;
    c += b;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  }
  void take(std::uint64_t word) noexcept {
    d ^= word;
    round();
    round();
    a ^= word;
  }
};

std::uint64_t read_little_endian(std::string_view bytes) noexcept {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return word;
}

}  // namespace

std::uint64_t siphash(const SipKey& key, std::uint64_t first, std::string_view rest) noexcept {
  // "somepseudorandomlygeneratedbytes", as the paper has it.
  State state{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};
  const std::uint64_t length = sizeof first + rest.size();
  state.take(first);
  for (; rest.size() >= sizeof first; rest.remove_prefix(sizeof first))
    state.take(read_little_endian(rest.substr(0, sizeof first)));
  state.take(read_little_endian(rest) | length << 56U);
  state.c ^= 0xff;
  for (int i = 0; i < 4; ++i) state.round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace tutti::wire
