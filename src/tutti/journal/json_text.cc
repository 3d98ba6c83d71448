#include "tutti/journal/json_text.h"

#include <cstddef>
#include <cstdint>

namespace tutti::journal {

namespace {

// Length of the UTF-8 sequence `text` begins with; 0 when it is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80U) return 1;
  const std::size_t length = first >= 0xf0U ? 4 : first >= 0xe0U ? 3 : 2;
  if (first < 0xc2U || first > 0xf4U || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
  }
  // Longer than needed, a surrogate, or beyond the last code point.
  const std::uint8_t second = byte(1);
  if ((first == 0xe0U && second < 0xa0U) || (first == 0xedU && second > 0x9fU)) return 0;
  if ((first == 0xf0U && second < 0x90U) || (first == 0xf4U && second > 0x8fU)) return 0;
  return length;
}

void append_escape(std::string& out, char control) {
  static constexpr std::string_view digits = "0123456789abcdef";
  const auto code = static_cast<std::uint8_t>(control);
  out += "\\u00";
  out += digits[code >> 4U];
  out += digits[code & 0xfU];
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const char first = text.front();
    if (length == 0) {
      out += "\\ufffd";
    } else if (first == '"' || first == '\\') {
      out += '\\';
      out += first;
    } else if (static_cast<std::uint8_t>(first) < 0x20U) {
      append_escape(out, first);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

}  // namespace tutti::journal
