#include "tutti/mesh/wire/handshake.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/wire/fields.h"

namespace tutti::wire {

namespace {

constexpr std::string_view magic = "TUTTImsh";

void fill_randomly(char* at, std::size_t size) {
  while (size != 0) {
    const ssize_t got = getrandom(at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw InvalidState(text("the kernel gives no random bytes: ", std::strerror(errno)), Site());
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}

}  // namespace

std::string fresh_nonce() {
  std::string nonce(nonce_size, '\0');
  fill_randomly(nonce.data(), nonce.size());
  return nonce;
}

std::uint64_t fresh_number() {
  std::string bytes(sizeof(std::uint64_t), '\0');
  fill_randomly(bytes.data(), bytes.size());
  return FieldReader(bytes).u64();
}

Digest proof(std::string_view secret, Side side, std::string_view coordinator_nonce, std::string_view member_nonce) noexcept {
  const std::string_view who = side == Side::member ? "tutti member 2" : "tutti coordinator 2";
  return keyed_hash(secret, {who, coordinator_nonce, member_nonce});
}

Seals seals_of(std::string_view secret, Side own, std::string_view coordinator_nonce, std::string_view member_nonce) noexcept {
  const auto from = [&](std::string_view who) {
    const Digest key = keyed_hash(secret, {who, coordinator_nonce, member_nonce});
    FieldReader in(as_text(key));
    const std::uint64_t first = in.u64();
    return Seal({first, in.u64()});
  };
  const Seal members = from("tutti frames of member 2");
  const Seal coordinators = from("tutti frames of coordinator 2");
  return own == Side::member ? Seals{members, coordinators} : Seals{coordinators, members};
}

void Challenge::append_to(std::string& out) const { FieldWriter(out).bytes(magic).u16(version).bytes(nonce); }

std::optional<Challenge> Challenge::read(std::string_view message) {
  FieldReader in(message);
  Challenge challenge;
  const bool ours = in.bytes(magic.size()) == magic;
  challenge.version = in.u16();
  if (!ours || !in.ok()) return std::nullopt;
  // What another version says further on is its own business.
  if (challenge.version != protocol_version) return challenge;
  challenge.nonce = in.bytes(nonce_size);
  return in.done() ? std::optional(challenge) : std::nullopt;
}

void Response::append_to(std::string& out) const { FieldWriter(out).u16(version).bytes(nonce).bytes(proof); }

std::optional<Response> Response::read(std::string_view message) {
  FieldReader in(message);
  Response response;
  response.version = in.u16();
  response.nonce = in.bytes(nonce_size);
  response.proof = in.bytes(std::tuple_size_v<Digest>);
  return in.done() ? std::optional(response) : std::nullopt;
}

}  // namespace tutti::wire
