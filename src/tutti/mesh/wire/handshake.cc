#include "tutti/mesh/wire/handshake.h"

#include "tutti/base/environment.h"
#include "tutti/base/text.h"

namespace tutti::wire {

namespace {

constexpr std::string_view coordinator = "tutti coordinator ";

}  // namespace

Key control_key(std::string_view job_secret) { return Key::derive(job_secret, text("tutti control ", protocol_version)); }

TlsSession begin_handshake(Side own, Transport& transport, const Key& key) {
  const std::string name = text(coordinator, protocol_version);
  if (own == Side::coordinator) return TlsSession::client(transport, name, key);
  return TlsSession::server(transport,
                            [name, key](std::string_view said) { return said == name ? std::optional(key) : std::nullopt; });
}

std::optional<std::uint16_t> version_of(const TlsSession& session) {
  const std::string& name = session.name();
  if (!name.starts_with(coordinator)) return std::nullopt;
  const auto version = parse_unsigned(name.substr(coordinator.size()), 0, 65535);
  return version ? std::optional(static_cast<std::uint16_t>(*version)) : std::nullopt;
}

Seals seals_of(const TlsSession& session, Side own) {
  const Key members = session.exported_key("EXPERIMENTAL tutti control of member");
  const Key coordinators = session.exported_key("EXPERIMENTAL tutti control of coordinator");
  return own == Side::member ? Seals{Seal(members), Seal(coordinators)} : Seals{Seal(coordinators), Seal(members)};
}

}  // namespace tutti::wire
