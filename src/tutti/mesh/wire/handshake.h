// How the two ends of a control connection show each other that they know the job's secret, by TLS 1.3. The coordinator is the
// client there, which proves itself first: to something else that answers at its address, a member shows nothing. What follows is
// sealed under keys that both get from it (seal.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tutti/mesh/wire/seal.h"
#include "tutti/mesh/wire/tls.h"

namespace tutti::wire {

inline constexpr std::uint16_t protocol_version = 3;

enum class Side : std::uint8_t { member, coordinator };

// What is proven on control connections of a job.
Key control_key(std::string_view job_secret);

TlsSession begin_handshake(Side own, Transport& transport, const Key& key);
// The version the coordinator speaks, by the session's name. Nothing: it is no coordinator of ours, or has not spoken yet.
std::optional<std::uint16_t> version_of(const TlsSession& session);
// What this side seals its frames with on this connection, and opens the other's with; once the handshake is done.
Seals seals_of(const TlsSession& session, Side own);

}  // namespace tutti::wire
