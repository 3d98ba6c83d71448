// A connection to a coordinator that says whatever a test wants.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tutti/mesh/control/messages.h"
#include "tutti/mesh/wire/frames.h"
#include "tutti/mesh/wire/handshake.h"
#include "tutti/mesh/wire/seal.h"
#include "tutti/mesh/wire/sockets.h"

namespace tutti {

class RawConnection {
 public:
  explicit RawConnection(const std::string& address) {
    std::string why;
    way_.socket = wire::connect_once(wire::Address::parse(address, {}), Clock::now() + std::chrono::seconds(10), why);
    if (!way_.socket.valid()) throw std::runtime_error(why);
  }

  void say(std::string_view bytes) const { static_cast<void>(send(way_.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL)); }
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
  // The next message, once it has proven the secret; nothing: the other side hung up.
  std::optional<std::string> hear() {
    for (;;) {
      if (const auto message = in_.next()) return std::string(seals_.value().incoming.open(*message).value());
      char buffer[4096];
      wire::wait_until(way_.socket.get(), true, Clock::now() + std::chrono::seconds(60));
      const std::ptrdiff_t got = way_.receive(buffer, sizeof buffer);
      if (got < 0) return std::nullopt;
      in_.append({buffer, static_cast<std::size_t>(got)});
    }
  }
  // Whatever it still says.
  void wait_for_end() {
    char buffer[4096];
    do wire::wait_until(way_.socket.get(), true, Clock::now() + std::chrono::seconds(60));
    while (way_.receive(buffer, sizeof buffer) >= 0);
  }
  // Takes part in the handshake as one who knows the secret; what it said.
  std::string prove(const std::string& secret) {
    wire::TlsSession session = wire::begin_handshake(wire::Side::member, way_, wire::control_key(secret));
    for (;;) {
      const wire::Progress progress = session.handshake();
      if (progress == wire::Progress::done) break;
      if (progress == wire::Progress::ended) throw std::runtime_error("no handshake: " + session.why());
      wire::wait_until(way_.socket.get(), true, Clock::now() + std::chrono::seconds(60));
    }
    seals_ = wire::seals_of(session, wire::Side::member);
    return way_.said;
  }
  void take_seat(const std::string& secret, std::uint32_t rank, std::uint32_t world) {
    prove(secret);
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
  // Keeps what is sent.
  struct Way final : wire::Transport {
    std::ptrdiff_t send(const char* data, std::size_t size) noexcept override {
      said.append(data, size);
      return ::send(socket.get(), data, size, MSG_NOSIGNAL);
    }
    std::ptrdiff_t receive(char* data, std::size_t size) noexcept override {
      const ssize_t got = ::recv(socket.get(), data, size, 0);
      if (got < 0 && errno == EAGAIN) return 0;
      return got == 0 ? -1 : got;
    }
    wire::Descriptor socket;
    std::string said;
  };

  Way way_;
  wire::FrameReader in_{wire::largest_answer};
  std::optional<wire::Seals> seals_;
};

}  // namespace tutti
