// Frames: messages with their length in front, cut out of a stream of bytes that may be anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti::wire {

// A member's messages are small; a coordinator's report may name every member of a large world.
inline constexpr std::size_t largest_request = std::size_t{256} << 10U;
inline constexpr std::size_t largest_answer = std::size_t{64} << 20U;
inline constexpr std::size_t largest_greeting = 1024;

// Appends a frame to `out`: begin(), then the message's fields, then end() with what begin() returned.
std::size_t begin_frame(std::string& out);
void end_frame(std::string& out, std::size_t begin) noexcept;

class FrameReader {
 public:
  explicit FrameReader(std::size_t largest) noexcept : largest_(largest) {}

  // Keeps what has come; a frame's memory is taken as its bytes arrive, not as its length announces.
  void append(std::string_view data);
  // The next whole message, valid until append(). Nothing: more must come, or broken().
  std::optional<std::string_view> next() noexcept;

  // A length of zero or past the limit was announced: what follows cannot be read.
  [[nodiscard]] bool broken() const noexcept { return broken_; }
  [[nodiscard]] std::size_t held() const noexcept { return data_.size() - begin_; }
  void set_largest(std::size_t largest) noexcept { largest_ = largest; }

 private:
  std::string data_;
  std::size_t begin_ = 0;
  std::size_t largest_;
  bool broken_ = false;
};

}  // namespace tutti::wire
