// The coordinator's sockets: one thread, one epoll. Strangers are few, small and short-lived; members are bounded in what they
// may leave unread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tutti/mesh/control/assembly.h"
#include "tutti/mesh/control/coordinator.h"
#include "tutti/mesh/control/sockets.h"
#include "tutti/mesh/wire/frames.h"
#include "tutti/mesh/wire/handshake.h"
#include "tutti/mesh/wire/seal.h"

namespace tutti::control {

class Server final : public Coordinator, private Outbox {
 public:
  Server(const CoordinatorOptions& options, Site site);
  ~Server() override;

  [[nodiscard]] std::string address() const override { return address_; }
  void serve() override;
  void stop() noexcept override;

 private:
  // A handshake, through memory: what has come and was not read yet, and where it writes to.
  struct Greeting final : wire::Transport {
    Greeting(const wire::Key& key, std::string& to)
        : out(to), session(wire::begin_handshake(wire::Side::coordinator, *this, key)) {}

    std::ptrdiff_t send(const char* data, std::size_t size) noexcept override;
    std::ptrdiff_t receive(char* data, std::size_t size) noexcept override;

    std::string in;
    std::string& out;
    wire::TlsSession session;
  };

  struct Connection {
    enum class State : std::uint8_t { greeted, proven, member, closing };

    Descriptor fd;
    SessionId id = 0;
    State state = State::greeted;
    Time opened{};
    std::unique_ptr<Greeting> greeting;  // until it is proven
    std::optional<wire::Seals> seals;    // from then on
    wire::FrameReader in{wire::largest_greeting};
    std::string out;
    std::size_t sent = 0;
    bool watches_writing = false;
    bool touched = false;     // has something to send, see flush()
    bool overflowed = false;  // does not read
  };

  // Outbox
  void send(SessionId to, std::string_view frames) override;
  void close(SessionId session) override;

  void accept_waiting(Time now);
  bool make_room(Time now);
  // Goes on with the handshake.
  void greet(Connection& connection);
  void read(Connection& connection, Time now);
  void receive_all(Connection& connection, Time now);
  // False: the connection is gone, or says nothing more that counts.
  bool receive(Connection& connection, std::string_view message, Time now);
  void touch(Connection& connection);
  void flush(Time now);
  // False: the other end is gone.
  bool write(Connection& connection);
  void watch(Connection& connection, bool writing);
  void remove(SessionId id, std::string how, Time now);
  void remove_stale(Time now);
  [[nodiscard]] int milliseconds_to_wait(Time now) const;
  [[nodiscard]] bool is_over(Time now) const;
  [[nodiscard]] Deadline ends_at() const;

  CoordinatorOptions options_;  // without the secret
  wire::Key key_;
  Assembly assembly_;
  Descriptor listener_;
  Descriptor epoll_;
  Descriptor wake_;
  std::string address_;
  std::atomic<bool> stopped_{false};
  std::unordered_map<SessionId, std::unique_ptr<Connection>> connections_;
  std::vector<SessionId> strangers_;  // connections without a seat, oldest first
  std::vector<SessionId> touched_;
  SessionId next_id_ = 2;
  bool listens_ = true;
  Time listen_again_{};
};

}  // namespace tutti::control
