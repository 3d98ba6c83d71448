#include "tutti/mesh/wire/fields.h"

#include <numeric>

namespace tutti::wire {

namespace {

void append_number(std::string& out, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i));
}

}  // namespace

FieldWriter& FieldWriter::u8(std::uint8_t value) {
  append_number(out_, value, 1);
  return *this;
}

FieldWriter& FieldWriter::u16(std::uint16_t value) {
  append_number(out_, value, 2);
  return *this;
}

FieldWriter& FieldWriter::u32(std::uint32_t value) {
  append_number(out_, value, 4);
  return *this;
}

FieldWriter& FieldWriter::u64(std::uint64_t value) {
  append_number(out_, value, 8);
  return *this;
}

FieldWriter& FieldWriter::bytes(std::string_view value) {
  out_ += value;
  return *this;
}

FieldWriter& FieldWriter::text(std::string_view value) { return u32(static_cast<std::uint32_t>(value.size())).bytes(value); }

FieldWriter& FieldWriter::ranks(const std::vector<int>& ascending) {
  const std::size_t at = out_.size();
  u32(0);
  std::uint32_t runs = 0;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t end = i + 1;
    while (end < ascending.size() && ascending[end] == ascending[end - 1] + 1) ++end;
    u32(static_cast<std::uint32_t>(ascending[i])).u32(static_cast<std::uint32_t>(end - i));
    ++runs;
    i = end;
  }
  for (std::size_t i = 0; i < 4; ++i) out_[at + i] = static_cast<char>(runs >> (8 * i));
  return *this;
}

void FieldReader::fail() noexcept {
  ok_ = false;
  data_ = {};
}

std::uint64_t FieldReader::number(std::size_t size) noexcept {
  std::uint64_t value = 0;
  const std::string_view read = bytes(size);
  for (std::size_t i = 0; i < read.size(); ++i) value |= std::uint64_t{static_cast<unsigned char>(read[i])} << (8 * i);
  return value;
}

std::string_view FieldReader::bytes(std::size_t count) noexcept {
  if (count > data_.size()) {
    fail();
    return {};
  }
  const std::string_view read = data_.substr(0, count);
  data_.remove_prefix(count);
  return read;
}

std::string_view FieldReader::text(std::size_t longest) noexcept {
  const std::uint32_t length = u32();
  if (length > longest) fail();
  return ok_ ? bytes(length) : std::string_view();
}

std::vector<int> FieldReader::ranks(int limit) {
  std::vector<int> all;
  const std::uint32_t runs = u32();
  std::int64_t next = 0;
  for (std::uint32_t i = 0; i < runs && ok_; ++i) {
    const std::int64_t first = u32();
    const std::int64_t count = u32();
    if (!ok_ || first < next || count == 0 || count > limit - first) {
      fail();
      break;
    }
    // Every message of a large world has such a list: room is made once.
    all.resize(all.size() + static_cast<std::size_t>(count));
    std::iota(all.end() - count, all.end(), static_cast<int>(first));
    next = first + count;
  }
  if (!ok_) all.clear();
  return all;
}

}  // namespace tutti::wire
