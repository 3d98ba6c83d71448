// SHA-256 and its keyed form: what connections prove their knowledge of a secret with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace tutti::wire {

using Digest = std::array<std::uint8_t, 32>;

class Sha256 {
 public:
  Sha256& update(std::string_view data) noexcept;
  // Ends the message; the object is not used again.
  [[nodiscard]] Digest finish() noexcept;

 private:
  void compress(const std::uint8_t* block) noexcept;

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_{};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

// HMAC-SHA-256 of the parts, one after the other.
Digest keyed_hash(std::string_view key, std::initializer_list<std::string_view> parts) noexcept;

// Takes as long for a first byte that differs as for a last one.
bool same_digest(std::string_view a, std::string_view b) noexcept;

inline std::string_view as_text(const Digest& digest) noexcept {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace tutti::wire
