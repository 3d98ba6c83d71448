#include "tutti/base/environment.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "tutti/base/duration.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"

namespace tutti {

namespace {

constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string lowercase(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// Takes the digits `text` begins with; nothing where there are none or they overflow.
std::optional<std::uint64_t> take_digits(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

std::optional<std::uint64_t> unit_bytes(std::string_view unit) {
  static constexpr std::string_view prefixes = "kmgtp";
  if (unit.empty() || unit == "b") return 1;
  const std::size_t power = prefixes.find(unit.front());
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = unit.substr(1);
  if (!rest.empty() && rest != "ib" && rest != "b") return std::nullopt;
  const std::uint64_t step = rest == "b" ? 1000 : 1024;
  std::uint64_t bytes = step;
  for (std::size_t i = 0; i < power; ++i) bytes *= step;
  return bytes;
}

bool is_uuid_like(std::string_view entry) {
  static constexpr std::size_t longest = 128;
  if (entry.size() > longest || !(entry.starts_with("GPU-") || entry.starts_with("MIG-"))) return false;
  return entry.size() > 4 &&
         std::ranges::all_of(entry, [](char c) { return is_digit(c) || is_letter(c) || c == '-' || c == '/'; });
}

void report_once(const char* variable, std::string_view found, std::string_view expected) {
  struct Reported {
    std::mutex mutex;
    std::set<std::string, std::less<>> variables;
  };
  static Reported& reported = *new Reported;  // a static object of the user's may come here while it is destroyed
  {
    const std::lock_guard lock(reported.mutex);
    if (!reported.variables.emplace(variable).second) return;
  }
  log(LogLevel::warning, text(variable, "='", printable(found), "' is ignored: ", expected, " expected"));
}

// `expected` gives the text for the report; it is called only when there is one to make.
template <class Parse, class Expected>
auto read(const char* variable, Parse parse, Expected expected) -> decltype(parse(std::string_view())) {
  const char* const found = std::getenv(variable);
  if (found == nullptr) return std::nullopt;
  auto value = parse(std::string_view(found));
  if (!value) report_once(variable, found, expected());
  return value;
}

}  // namespace

std::optional<bool> parse_bool(std::string_view text) {
  const std::string_view word = trim(text);
  if (word.size() > 5) return std::nullopt;
  const std::string lower = lowercase(word);
  if (lower == "true" || lower == "1" || lower == "on" || lower == "yes") return true;
  if (lower == "false" || lower == "0" || lower == "off" || lower == "no") return false;
  return std::nullopt;
}

std::optional<std::uint64_t> parse_unsigned(std::string_view text, std::uint64_t lowest, std::uint64_t highest) {
  std::string_view rest = trim(text);
  const std::optional<std::uint64_t> value = take_digits(rest);
  if (!value || !rest.empty() || *value < lowest || *value > highest) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  std::string_view rest = trim(text);
  const std::optional<std::uint64_t> whole = take_digits(rest);
  if (!whole) return std::nullopt;
  std::uint64_t thousandths = 0;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    const std::size_t before = rest.size();
    const std::optional<std::uint64_t> fraction = take_digits(rest);
    const std::size_t digits = before - rest.size();
    if (!fraction || digits > 3) return std::nullopt;  // three digits: more would overflow below
    thousandths = *fraction * (digits == 1 ? 100 : digits == 2 ? 10 : 1);
  }
  rest = trim(rest);
  if (rest.size() > 3) return std::nullopt;
  const std::optional<std::uint64_t> unit = unit_bytes(lowercase(rest));
  if (!unit || (*unit == 1 && thousandths != 0) || *whole > no_upper_bound / *unit) return std::nullopt;
  const std::uint64_t bytes = *whole * *unit;
  const std::uint64_t part = thousandths * *unit / 1000;
  if (part > no_upper_bound - bytes) return std::nullopt;
  return bytes + part;
}

std::optional<DeviceList> parse_device_list(std::string_view text) {
  static constexpr std::size_t most_devices = 1024;  // duplicates are looked for one by one
  DeviceList out;
  std::string_view rest = trim(text);
  while (!rest.empty() || !out.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view entry = trim(rest.substr(0, comma));
    if (entry.starts_with('-') && parse_unsigned(entry.substr(1), 1)) return out;
    ListedDevice device;
    if (const auto number = parse_unsigned(entry, 0, std::numeric_limits<unsigned>::max())) {
      device = static_cast<unsigned>(*number);
    } else if (is_uuid_like(entry)) {
      device = std::string(entry);
    } else {
      return std::nullopt;
    }
    if (out.size() == most_devices || std::ranges::find(out, device) != out.end()) return std::nullopt;
    out.push_back(std::move(device));
    if (comma == std::string_view::npos) return out;
    rest.remove_prefix(comma + 1);
  }
  return out;
}

std::optional<bool> environment_bool(const char* variable) {
  return read(variable, parse_bool, [] { return std::string("true, false, 1, 0, on, off, yes or no"); });
}

std::optional<std::uint64_t> environment_unsigned(const char* variable, std::uint64_t lowest, std::uint64_t highest) {
  return read(
      variable, [=](std::string_view found) { return parse_unsigned(found, lowest, highest); },
      [=] {
        return highest == no_upper_bound ? text("a whole number of at least ", lowest)
                                         : text("a whole number from ", lowest, " to ", highest);
      });
}

std::optional<std::uint64_t> environment_bytes(const char* variable) {
  return read(variable, parse_bytes, [] { return std::string("a size such as 512MiB or 2GB"); });
}

std::optional<std::chrono::milliseconds> environment_duration(const char* variable) {
  return read(variable, parse_duration, [] { return std::string("a length of time such as 500ms, 90s or 5m"); });
}

std::optional<DeviceList> environment_device_list(const char* variable) {
  return read(variable, parse_device_list,
              [] { return std::string("device numbers or UUIDs such as 0,2, each once, or -1 for none,"); });
}

std::optional<std::string> environment_text(const char* variable) {
  const char* const found = std::getenv(variable);
  if (found == nullptr || *found == '\0') return std::nullopt;
  return std::string(found);
}

}  // namespace tutti
