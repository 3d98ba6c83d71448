// What shows that a frame comes from the other end of this very connection, in its turn: a keyed hash of its message and of how
// many came before it. A frame that was made up, changed, repeated, left out or sent back to its maker does not open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tutti/mesh/wire/siphash.h"

namespace tutti::wire {

inline constexpr std::size_t seal_size = 8;

// One direction of a connection.
class Seal {
 public:
  explicit Seal(const SipKey& key) noexcept : key_(key) {}

  // Appends whole frames, each with its seal behind its message.
  void close_onto(std::string& out, std::string_view frames);
  // The message of a sealed frame that is the next in turn. Nothing: it is not, and nothing that follows counts.
  std::optional<std::string_view> open(std::string_view sealed) noexcept;

 private:
  SipKey key_;
  std::uint64_t turn_ = 0;
};

struct Seals {
  Seal outgoing;
  Seal incoming;
};

}  // namespace tutti::wire
