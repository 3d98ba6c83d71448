#include "tutti/mesh/engines/connections.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/wire/fields.h"
#include "tutti/mesh/wire/random_bytes.h"
#include "tutti/mesh/wire/socket_transport.h"
#include "tutti/mesh/wire/tls.h"

namespace tutti {

namespace {

using std::chrono::milliseconds;
using wire::Descriptor;
using wire::Progress;

constexpr milliseconds between_attempts{20};
// Connections that have proven nothing; one more, and the oldest goes.
constexpr std::size_t most_strangers = 128;
constexpr int most_at_a_time = 64;
constexpr std::size_t nonce_size = 16;  // of a listener

// A connection on which somebody still has to prove who it is.
struct Unproven {
  Unproven(Descriptor socket, const std::string& name, const wire::Key& key)
      : transport(std::move(socket)), session(wire::TlsSession::client(transport, name, key)) {}
  Unproven(Descriptor socket, wire::TlsSession::KeyOf key_of)
      : transport(std::move(socket)), session(wire::TlsSession::server(transport, std::move(key_of))) {}

  wire::SocketTransport transport;
  wire::TlsSession session;
  bool is_welcome_awaited = false;
};

// A member below this one, until it is connected.
struct Target {
  int member = 0;
  std::string address;
  std::string nonce;
  wire::Secrecy secrecy = wire::Secrecy::encrypted;
  std::unique_ptr<Unproven> attempt;
  Clock::time_point again{};  // where there is no attempt
  std::string why;            // the last one failed
};

// What a member calls itself to the one it connects to: who it is, and whether others may read what goes between them. They may
// where both ends say so.
struct Name {
  int member = 0;
  wire::Secrecy secrecy = wire::Secrecy::encrypted;

  [[nodiscard]] std::string text() const {
    return std::to_string(member) + (secrecy == wire::Secrecy::readable ? " readable" : "");
  }
  static std::optional<Name> read(std::string_view said) {
    Name name;
    const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), name.member);
    if (end != said.data() + said.size()) name.secrecy = wire::Secrecy::readable;
    return error == std::errc() && name.text() == said ? std::optional(name) : std::nullopt;
  }
};

std::string with_any_port(const std::string& host) {
  return host.find(':') == std::string::npos ? host + ":0" : "[" + host + "]:0";
}

class Connecting {
 public:
  Connecting(Rendezvous& rendezvous, const ConnectingMember& self, Deadline deadline)
      : rendezvous_(rendezvous),
        self_(self),
        deadline_(deadline),
        made_(static_cast<std::size_t>(self.size)),
        stopped_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!stopped_.valid()) throw InvalidState(text("cannot wait for connections: ", std::strerror(errno)), Site());
  }

  std::vector<std::optional<Connection>> run();

 private:
  struct Stop {
    int descriptor;
    void operator()() const noexcept {
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = ::write(descriptor, &one, sizeof one);
    }
  };

  void find_each_other();
  void begin(Target& target);
  void advance(Target& target);
  void accept_waiting();
  // True: it is a stranger no more, or is gone.
  bool advance(Unproven& stranger);
  void keep(int member, wire::Secrecy secrecy, Unproven& proven);
  void wait();
  void check() const;
  [[nodiscard]] wire::Key key_for(const Name& from, int to, const std::string& nonce) const;
  [[nodiscard]] std::optional<wire::Key> key_of(std::string_view name) const;
  [[nodiscard]] bool is_missing(int member) const { return member != self_.index && !made_[static_cast<std::size_t>(member)]; }
  [[nodiscard]] std::string missing() const;

  Rendezvous& rendezvous_;
  const ConnectingMember& self_;
  Deadline deadline_;
  std::vector<std::optional<Connection>> made_;
  Descriptor stopped_;
  Descriptor listener_;
  std::string nonce_;
  std::vector<Target> targets_;
  std::deque<std::unique_ptr<Unproven>> strangers_;
  Clock::time_point accept_again_{};
};

std::string Connecting::missing() const {
  std::string out;
  for (int member = 0; member < self_.size; ++member) {
    if (is_missing(member)) out += text(out.empty() ? "" : ", ", self_.name(member));
  }
  return out;
}

// Of one direction of one pair: a proof that is sent back to its maker, or on to another member, is of no use.
wire::Key Connecting::key_for(const Name& from, int to, const std::string& nonce) const {
  std::string purpose;
  wire::FieldWriter(purpose)
      .text("tutti data 1")
      .text(self_.key)
      .text(nonce)
      .u32(static_cast<std::uint32_t>(self_.size))
      .text(from.text())
      .u32(static_cast<std::uint32_t>(to));
  return wire::Key::derive(self_.secret, purpose);
}

std::optional<wire::Key> Connecting::key_of(std::string_view name) const {
  const std::optional<Name> from = Name::read(name);
  if (!from || from->member <= self_.index || from->member >= self_.size) return std::nullopt;
  if (from->secrecy == wire::Secrecy::readable && self_.secrecy != from->secrecy) return std::nullopt;
  return key_for(*from, self_.index, nonce_);
}

void Connecting::find_each_other() {
  if (self_.index + 1 < self_.size) {
    listener_ = wire::listen_on(with_any_port(self_.address), Site());
    nonce_ = wire::random_bytes(nonce_size);
    std::string where;
    wire::FieldWriter(where)
        .text(wire::bound_address(listener_.get()))
        .u8(self_.secrecy == wire::Secrecy::readable ? 1 : 0)
        .bytes(nonce_);
    rendezvous_.put(text(self_.key, "/listens/", self_.index), where);
  }
  for (int member = 0; member < self_.index; ++member) {
    const std::string where = rendezvous_.get(text(self_.key, "/listens/", member), deadline_);
    wire::FieldReader in(where);
    Target target;
    target.member = member;
    target.address = in.text(where.size());
    if (in.u8() == 1) target.secrecy = self_.secrecy;
    target.nonce = in.bytes(nonce_size);
    if (!in.done()) throw ExchangeFailed(text(self_.name(member), " does not say where it listens"), Site());
    targets_.push_back(std::move(target));
  }
}

void Connecting::begin(Target& target) {
  Descriptor socket = wire::begin_connecting(target.address, target.why);
  if (!socket.valid()) {
    target.again = Clock::now() + between_attempts;
    return;
  }
  const Name own{self_.index, target.secrecy};
  target.attempt = std::make_unique<Unproven>(std::move(socket), own.text(), key_for(own, target.member, target.nonce));
  advance(target);
}

void Connecting::advance(Target& target) {
  Unproven& attempt = *target.attempt;
  Progress progress = Progress::done;
  if (!attempt.is_welcome_awaited) progress = attempt.session.handshake();
  if (progress == Progress::done) {
    attempt.is_welcome_awaited = true;
    char welcome = 0;
    std::size_t got = 0;
    progress = attempt.session.read(&welcome, 1, got);
  }
  if (progress == Progress::blocked) return;
  if (progress == Progress::done) {
    keep(target.member, target.secrecy, attempt);
  } else {
    target.why = attempt.session.why();
    target.again = Clock::now() + between_attempts;
  }
  target.attempt.reset();
}

void Connecting::accept_waiting() {
  for (int i = 0; i < most_at_a_time; ++i) {
    Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      if (errno == EAGAIN) return;
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // No descriptor is left: the oldest stranger gives its own up, and the rest waits a moment.
      if (!strangers_.empty()) strangers_.pop_front();
      accept_again_ = Clock::now() + between_attempts;
      return;
    }
    wire::send_at_once(socket.get());
    if (strangers_.size() == most_strangers) strangers_.pop_front();
    strangers_.push_back(std::make_unique<Unproven>(std::move(socket), [this](std::string_view name) { return key_of(name); }));
  }
}

bool Connecting::advance(Unproven& stranger) {
  const Progress progress = stranger.session.handshake();
  if (progress == Progress::blocked) return false;
  if (progress == Progress::ended) return true;
  // From here on the other end relies on this connection, and knows that it can.
  std::size_t sent = 0;
  if (stranger.session.write("+", sent) != Progress::done) return true;
  const Name name = Name::read(stranger.session.name()).value();
  keep(name.member, name.secrecy, stranger);
  return true;
}

// TLS has told who is there and made the keys; from now on the connection carries records of its own.
void Connecting::keep(int member, wire::Secrecy secrecy, Unproven& proven) {
  const bool is_server = member > self_.index;
  const wire::Key to_server = proven.session.exported_key("EXPERIMENTAL tutti data to server");
  const wire::Key to_client = proven.session.exported_key("EXPERIMENTAL tutti data to client");
  // One that comes again has lost the connection it had.
  made_[static_cast<std::size_t>(member)].emplace(Connection{std::move(proven.transport.socket), secrecy,
                                                             wire::RecordSeal(is_server ? to_client : to_server, secrecy),
                                                             wire::RecordSeal(is_server ? to_server : to_client, secrecy)});
}

void Connecting::check() const {
  if (self_.stop.stop_requested()) {
    throw ExchangeFailed(text(self_.name(self_.index), " was told not to connect"), Site());
  }
  if (!deadline_ || Clock::now() < *deadline_) return;
  std::string why;
  for (const Target& target : targets_) {
    if (why.empty() && is_missing(target.member) && !target.why.empty()) why = text(" (", printable(target.why), ")");
  }
  throw DeadlineExceeded(text(self_.name(self_.index), " was not connected in time to ", missing(), why), Site());
}

void Connecting::wait() {
  std::vector<pollfd> watched;
  const auto watch = [&](int descriptor, short events) { watched.push_back({descriptor, events, 0}); };
  const auto events_of = [](const Unproven& each) {
    return static_cast<short>(POLLIN | (each.session.wants_to_send() ? POLLOUT : 0));
  };
  const auto now = Clock::now();
  auto next = deadline_;
  const auto consider = [&](Clock::time_point time) {
    if (!next || time < *next) next = time;
  };
  watch(stopped_.get(), POLLIN);
  const bool accepts = listener_.valid() && accept_again_ <= now;
  if (listener_.valid() && !accepts) consider(accept_again_);
  watch(accepts ? listener_.get() : -1, POLLIN);
  for (const auto& connection : made_) watch(connection ? connection->socket.get() : -1, POLLRDHUP);
  for (const Target& target : targets_) {
    watch(target.attempt ? target.attempt->transport.socket.get() : -1, target.attempt ? events_of(*target.attempt) : short{0});
    if (!target.attempt && is_missing(target.member)) consider(target.again);
  }
  for (const auto& stranger : strangers_) watch(stranger->transport.socket.get(), events_of(*stranger));
  const auto left = next ? std::chrono::ceil<milliseconds>(*next - now).count() : std::int64_t{60'000};
  if (::poll(watched.data(), watched.size(), static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000))) < 0) return;

  std::size_t at = 2 + made_.size() + targets_.size() + strangers_.size();
  for (std::size_t i = strangers_.size(); i-- > 0;) {
    if (watched[--at].revents != 0 && advance(*strangers_[i])) {
      strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (std::size_t i = targets_.size(); i-- > 0;) {
    if (watched[--at].revents != 0) advance(targets_[i]);
  }
  for (std::size_t member = made_.size(); member-- > 0;) {
    if (watched[--at].revents == 0 || !made_[member] || made_[member]->socket.get() != watched[at].fd) continue;
    throw ExchangeFailed(
        text(self_.name(static_cast<int>(member)), " closed its connection (it died, or ended) while others still connected"),
        Site());
  }
  if (watched[1].revents != 0) accept_waiting();
}

std::vector<std::optional<Connection>> Connecting::run() {
  const std::stop_callback<Stop> on_stop(self_.stop, Stop{stopped_.get()});
  find_each_other();
  for (;;) {
    for (Target& target : targets_) {
      if (!target.attempt && is_missing(target.member) && target.again <= Clock::now()) begin(target);
    }
    if (missing().empty()) return std::move(made_);
    check();
    wait();
  }
}

}  // namespace

std::string ConnectingMember::name(int member) const {
  return ranks.empty() ? text("member ", member) : text("rank ", ranks.at(static_cast<std::size_t>(member)));
}

std::vector<std::optional<Connection>> connect_all(Rendezvous& rendezvous, const ConnectingMember& self, Deadline deadline) {
  return Connecting(rendezvous, self, deadline).run();
}

}  // namespace tutti
