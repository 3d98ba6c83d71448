// Builds messages from parts: text("limit ", 12, " B"). Numbers, characters, strings and strings' views.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace tutti {

namespace detail {

inline void append_part(std::string& out, std::string_view part) { out += part; }
inline void append_part(std::string& out, const char* part) { out += part; }
inline void append_part(std::string& out, const std::string& part) { out += part; }
inline void append_part(std::string& out, char part) { out += part; }
inline void append_part(std::string& out, bool part) { out += part ? "true" : "false"; }

template <class Number>
  requires std::is_arithmetic_v<Number>
void append_part(std::string& out, Number part) {
  char digits[64];
  const auto result = std::to_chars(digits, digits + sizeof digits, part);
  out.append(digits, result.ptr);
}

}  // namespace detail

template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (detail::append_part(out, parts), ...);
  return out;
}

// "1.50 GiB", "12 B".
std::string human_bytes(std::uint64_t bytes);

// Of ASCII alone, whatever the locale says.
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Printable form of untrusted text: control characters escaped, long text cut in the middle.
std::string printable(std::string_view untrusted, std::size_t longest = 120);

}  // namespace tutti
