// The fields of a message: numbers little-endian, texts and lists with their length in front. Reading never goes past the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::wire {

class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) noexcept : out_(out) {}

  FieldWriter& u8(std::uint8_t value);
  FieldWriter& u16(std::uint16_t value);
  FieldWriter& u32(std::uint32_t value);
  FieldWriter& u64(std::uint64_t value);
  FieldWriter& i64(std::int64_t value) { return u64(static_cast<std::uint64_t>(value)); }
  FieldWriter& bytes(std::string_view value);  // as they are, without a length
  FieldWriter& text(std::string_view value);
  // Ascending numbers, as runs: the ranks of a whole world cost 12 bytes.
  FieldWriter& ranks(const std::vector<int>& ascending);

 private:
  std::string& out_;
};

// A field that is not there, too long or out of order makes the reader fail for good; every later field is then empty.
class FieldReader {
 public:
  explicit FieldReader(std::string_view data) noexcept : data_(data) {}

  std::uint8_t u8() noexcept { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t u16() noexcept { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() noexcept { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() noexcept { return number(8); }
  std::int64_t i64() noexcept { return static_cast<std::int64_t>(number(8)); }
  std::string_view bytes(std::size_t count) noexcept;
  // Points into the message.
  std::string_view text(std::size_t longest) noexcept;
  // Strictly ascending, each below `limit`.
  std::vector<int> ranks(int limit);

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  // Everything was read, and nothing was wrong.
  [[nodiscard]] bool done() const noexcept { return ok_ && data_.empty(); }

 private:
  std::uint64_t number(std::size_t size) noexcept;
  void fail() noexcept;

  std::string_view data_;
  bool ok_ = true;
};

}  // namespace tutti::wire
