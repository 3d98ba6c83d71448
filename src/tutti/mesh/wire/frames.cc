#include "tutti/mesh/wire/frames.h"

#include "tutti/mesh/wire/fields.h"

namespace tutti::wire {

namespace {

constexpr std::size_t length_size = 4;

}  // namespace

std::size_t begin_frame(std::string& out) {
  const std::size_t begin = out.size();
  out.append(length_size, '\0');
  return begin;
}

void end_frame(std::string& out, std::size_t begin) noexcept {
  const std::size_t length = out.size() - begin - length_size;
  for (std::size_t i = 0; i < length_size; ++i) out[begin + i] = static_cast<char>(length >> (8 * i));
}

void FrameReader::append(std::string_view data) {
  if (broken_) return;
  if (begin_ == data_.size()) {
    // One large message does not keep its memory for ever.
    if (data_.capacity() > largest_greeting * 64) data_ = {};
    data_.clear();
    begin_ = 0;
  } else if (begin_ > data_.size() / 2) {
    data_.erase(0, begin_);
    begin_ = 0;
  }
  data_ += data;
}

std::optional<std::string_view> FrameReader::next() noexcept {
  if (broken_ || held() < length_size) return std::nullopt;
  const std::string_view rest = std::string_view(data_).substr(begin_);
  const std::size_t length = FieldReader(rest).u32();
  if (length == 0 || length > largest_) {
    broken_ = true;
    return std::nullopt;
  }
  if (rest.size() < length_size + length) return std::nullopt;
  begin_ += length_size + length;
  return rest.substr(length_size, length);
}

}  // namespace tutti::wire
