#include "tutti/base/text.h"

#include <array>
#include <cstdio>

namespace tutti {

std::string human_bytes(std::uint64_t bytes) {
  static constexpr std::array<const char*, 6> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 1024.0 && unit + 1 < units.size()) {
    amount /= 1024.0;
    ++unit;
  }
  std::array<char, 48> out{};
  const bool whole = unit == 0 || amount == static_cast<double>(static_cast<std::uint64_t>(amount));
  std::snprintf(out.data(), out.size(), whole ? "%.0f %s" : "%.2f %s", amount, units[unit]);
  return out.data();
}

std::string printable(std::string_view untrusted, std::size_t longest) {
  static constexpr std::string_view hex = "0123456789abcdef";
  std::string out;
  const auto add = [&](std::string_view part) {
    for (const char c : part) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x20 && byte < 0x7f) {
        out += c;
      } else {
        out += "\\x";
        out += hex[byte >> 4U];
        out += hex[byte & 15U];
      }
    }
  };
  if (untrusted.size() <= longest) {
    add(untrusted);
    return out;
  }
  add(untrusted.substr(0, longest / 2));
  out += text("... (", untrusted.size(), " characters) ...");
  add(untrusted.substr(untrusted.size() - longest / 4));
  return out;
}

}  // namespace tutti
