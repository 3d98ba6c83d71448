#include "tutti/base/duration.h"

#include <cstdint>

#include "tutti/base/text.h"

namespace tutti {

namespace {

std::optional<std::int64_t> milliseconds_in(std::string_view unit) {
  if (unit == "ms") return 1;
  if (unit == "s") return 1'000;
  if (unit == "m" || unit == "min") return 60'000;
  if (unit == "h") return 3'600'000;
  return std::nullopt;
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  static constexpr std::int64_t longest = 366LL * 24 * 3'600'000;
  static constexpr std::size_t most_digits = 12;
  std::int64_t thousandths = 0;  // of the unit
  std::size_t whole = 0;
  while (whole < text.size() && is_digit(text[whole])) {
    if (whole == most_digits) return std::nullopt;
    thousandths = thousandths * 10 + (text[whole++] - '0') * 1'000;
  }
  if (whole == 0) return std::nullopt;
  text.remove_prefix(whole);
  if (text.starts_with('.')) {
    std::int64_t weight = 100;
    std::size_t digits = 1;
    for (; digits < text.size() && is_digit(text[digits]); ++digits, weight /= 10) thousandths += (text[digits] - '0') * weight;
    if (digits == 1) return std::nullopt;
    text.remove_prefix(digits);
  }
  const auto unit = milliseconds_in(text);
  if (!unit || thousandths / 1'000 > longest / *unit) return std::nullopt;
  return std::chrono::milliseconds(thousandths * *unit / 1'000);
}

}  // namespace tutti
