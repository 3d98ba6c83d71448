// Keys that two ends of a connection share, derived from the job's secret: each for one purpose, wiped when it goes.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tutti::wire {

class Key {
 public:
  static constexpr std::size_t size = 32;

  // HKDF-SHA-256. Keys of different purposes tell nothing of each other, nor of the secret.
  static Key derive(std::string_view secret, std::string_view purpose);
  // Of random bytes that somebody else has made.
  explicit Key(const std::array<unsigned char, size>& bytes) noexcept : bytes_(bytes) {}
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  ~Key();

  [[nodiscard]] const unsigned char* data() const noexcept { return bytes_.data(); }

 private:
  std::array<unsigned char, size> bytes_;
};

// Overwritten in a way that the compiler does not leave out.
void wipe(void* at, std::size_t bytes) noexcept;

}  // namespace tutti::wire
