// Large messages, sealed in records with AES-128-GCM as TLS 1.3 does it, but in place: TLS would copy each byte once more
// on either end. Both ends know how much comes next, so a record is its bytes and 16 more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tutti/mesh/wire/key.h"

namespace tutti::wire {

// What a record holds, unless it is the last of a message.
inline constexpr std::size_t record_size = std::size_t{256} << 10U;

using RecordTag = std::array<unsigned char, 16>;

// Sealed so that others cannot read it either, or only so that they cannot change it, for a network where all may read.
enum class Secrecy : std::uint8_t { encrypted, readable };

// One direction of a connection: records follow each other, and one that was changed, left out, repeated or put elsewhere does
// not open. After 16 TiB under a key, what others see can be told from random bytes with a chance of 2^-49.
class RecordSeal {
 public:
  RecordSeal(const Key& key, Secrecy secrecy);
  RecordSeal(RecordSeal&& other) noexcept;
  RecordSeal& operator=(RecordSeal&& other) noexcept;
  ~RecordSeal();

  // A readable one is not written to `out`: it goes as it is.
  void seal(const std::byte* in, std::byte* out, std::size_t bytes, RecordTag& tag);
  // In place. False: it is not the next that the other end has sealed.
  [[nodiscard]] bool open(std::byte* data, std::size_t bytes, const RecordTag& tag);

 private:
  struct Cipher;

  std::unique_ptr<Cipher> cipher_;
};

}  // namespace tutti::wire
