// A connection to a coordinator that says whatever a test wants.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tutti/mesh/control/messages.h"
#include "tutti/mesh/control/sockets.h"
#include "tutti/mesh/wire/frames.h"
#include "tutti/mesh/wire/handshake.h"
#include "tutti/mesh/wire/seal.h"

namespace tutti {

class RawConnection {
 public:
  explicit RawConnection(const std::string& address) {
    std::string why;
    fd_ = control::connect_once(control::Address::parse(address, {}), Clock::now() + std::chrono::seconds(10), why);
    if (!fd_.valid()) throw std::runtime_error(why);
  }

  void say(std::string_view bytes) const { static_cast<void>(send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL)); }
  static std::string framed(std::string_view message) {
    std::string out;
    const std::size_t begin = wire::begin_frame(out);
    out += message;
    wire::end_frame(out, begin);
    return out;
  }
  // As the member it is, once it has proven the secret.
  void say_sealed(std::string_view frames) { say(sealed(frames)); }
  std::string sealed(std::string_view frames) {
    std::string out;
    seals_.value().outgoing.close_onto(out, frames);
    return out;
  }
  // The next message; nothing: the other side hung up.
  std::optional<std::string> hear() {
    for (;;) {
      if (const auto message = in_.next()) {
        const bool is_sealed = seals_ && std::exchange(has_its_proof_, true);
        return std::string(is_sealed ? seals_->incoming.open(*message).value() : *message);
      }
      char buffer[4096];
      control::wait_until(fd_.get(), true, Clock::now() + std::chrono::seconds(60));
      const ssize_t got = recv(fd_.get(), buffer, sizeof buffer, 0);
      if (got <= 0) return std::nullopt;
      in_.append({buffer, static_cast<std::size_t>(got)});
    }
  }
  void wait_for_end() {
    while (hear()) {}
  }
  // Answers the challenge as one who knows the secret; what was said.
  std::string prove(const std::string& secret) {
    const auto challenge = wire::Challenge::read(hear().value());
    wire::Response response;
    response.nonce = wire::fresh_nonce();
    response.proof = wire::as_text(wire::proof(secret, wire::Side::member, challenge->nonce, response.nonce));
    std::string out;
    response.append_to(out);
    say(framed(out));
    seals_ = wire::seals_of(secret, wire::Side::member, challenge->nonce, response.nonce);
    return out;
  }
  void take_seat(const std::string& secret, std::uint32_t rank, std::uint32_t world) {
    prove(secret);
    hear();
    control::Hello hello;
    hello.job = "test";
    hello.rank = rank;
    hello.world = world;
    hello.host = "raw";
    hello.pid = 1;
    say_sealed(control::message(control::Request::hello, [&](wire::FieldWriter& out) { hello.append_to(out); }));
    const auto answer = hear();
    if (!answer || static_cast<control::Answer>(answer->front()) != control::Answer::welcome) throw std::runtime_error("no seat");
  }

 private:
  control::Descriptor fd_;
  wire::FrameReader in_{wire::largest_answer};
  std::optional<wire::Seals> seals_;
  bool has_its_proof_ = false;  // which is the last that is not sealed
};

}  // namespace tutti
