// Frames that only the other end of this very connection can read, and only in their turn: each encrypted under a key of its
// direction. One that was made up, changed, repeated, left out or sent back to its maker does not open.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tutti/mesh/wire/key.h"
#include "tutti/mesh/wire/records.h"

namespace tutti::wire {

inline constexpr std::size_t seal_size = std::tuple_size_v<RecordTag>;

// One direction of a connection.
class Seal {
 public:
  explicit Seal(const Key& key) : records_(key, Secrecy::encrypted) {}

  // Appends whole frames, each with its seal behind its message.
  void close_onto(std::string& out, std::string_view frames);
  // The message of a sealed frame that is the next in turn, valid until the next. Nothing: it is not, and nothing that follows
  // counts.
  std::optional<std::string_view> open(std::string_view sealed);

 private:
  RecordSeal records_;
  std::string opened_;
};

struct Seals {
  Seal outgoing;
  Seal incoming;
};

}  // namespace tutti::wire
