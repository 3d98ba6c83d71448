// How two ends of a connection show each other that they know the job's secret, without telling it. Both give fresh random bytes,
// so what was overheard of one connection opens no other:
//   coordinator: magic, version, its random bytes
//   member:      version, its random bytes, proof over both
//   coordinator: its own proof over both
// From both also comes a key for each direction, which seals every frame that follows (seal.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tutti/mesh/wire/seal.h"
#include "tutti/mesh/wire/sha256.h"

namespace tutti::wire {

inline constexpr std::uint16_t protocol_version = 2;
inline constexpr std::size_t nonce_size = 32;

// From the kernel's generator.
std::string fresh_nonce();
std::uint64_t fresh_number();

enum class Side : std::uint8_t { member, coordinator };

// The sides prove different things, so that a proof cannot be sent back to whom it came from.
Digest proof(std::string_view secret, Side side, std::string_view coordinator_nonce, std::string_view member_nonce) noexcept;
// What this side seals its frames with on this connection, and opens the other's with.
Seals seals_of(std::string_view secret, Side own, std::string_view coordinator_nonce, std::string_view member_nonce) noexcept;

struct Challenge {
  std::uint16_t version = protocol_version;
  std::string nonce;

  void append_to(std::string& out) const;
  // Nothing: this is no coordinator of ours. A version that is not ours is for the caller to judge.
  static std::optional<Challenge> read(std::string_view message);
};

struct Response {
  std::uint16_t version = protocol_version;
  std::string nonce;
  std::string proof;

  void append_to(std::string& out) const;
  static std::optional<Response> read(std::string_view message);
};

}  // namespace tutti::wire
