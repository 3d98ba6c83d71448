// Where something listens: "host:port", "[v6]:port".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti {

struct HostPort {
  std::string host;  // without brackets
  std::uint16_t port = 0;

  // With brackets where the host has colons.
  [[nodiscard]] std::string to_string() const;
};

// Nothing: the text is not such a thing. A host has no space, slash or control character.
std::optional<HostPort> parse_host_port(std::string_view text, std::uint16_t lowest_port = 1);

// "localhost", "127.0.0.1", "::1": by what is written, without asking anybody.
bool is_loopback_name(std::string_view host);

}  // namespace tutti
