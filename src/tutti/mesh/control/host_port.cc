#include "tutti/mesh/control/host_port.h"

#include <algorithm>
#include <limits>

#include "tutti/base/environment.h"
#include "tutti/base/text.h"

namespace tutti {

std::string HostPort::to_string() const {
  return host.find(':') == std::string::npos ? text(host, ":", port) : text("[", host, "]:", port);
}

std::optional<HostPort> parse_host_port(std::string_view text, std::uint16_t lowest_port) {
  static constexpr std::size_t longest_name = 253;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (has_brackets) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.size() > longest_name || (host.find(':') != std::string_view::npos) != has_brackets)
    return std::nullopt;
  const auto is_part_of_a_name = [](char c) { return c > ' ' && c < 0x7f && c != '/' && c != '[' && c != ']' && c != ','; };
  if (!std::ranges::all_of(host, is_part_of_a_name)) return std::nullopt;
  if (digits.empty() || digits.size() > 5 || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  const auto port = parse_unsigned(digits, lowest_port, std::numeric_limits<std::uint16_t>::max());
  if (!port) return std::nullopt;
  return HostPort{std::string(host), static_cast<std::uint16_t>(*port)};
}

bool is_loopback_name(std::string_view host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

}  // namespace tutti
