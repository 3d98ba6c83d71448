#include "tutti/mesh/engines/socket_channel.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/human_time.h"
#include "tutti/base/text.h"
#include "tutti/mesh/engines/exchange.h"

namespace tutti {

namespace {

// How long to look for the word of a member whose connection ended: its sockets may close a moment before it says why.
constexpr std::chrono::milliseconds for_a_word{300};
// So much goes one way before the other way has its turn.
constexpr int records_in_turn = 4;
constexpr int looks_for_silence = 8;  // in the time after which it counts

bool is_passing(int error) noexcept { return error == EAGAIN || error == EINTR; }

// What is not yet moved of a record and its tag, as the system wants it.
struct Rest {
  std::array<iovec, 2> parts{};
  msghdr message{};

  Rest(std::byte* data, std::size_t bytes, wire::RecordTag& tag, std::size_t moved) {
    const std::size_t of_data = std::min(moved, bytes);
    const std::size_t of_tag = moved - of_data;
    parts[0] = {data + of_data, bytes - of_data};
    parts[1] = {tag.data() + of_tag, tag.size() - of_tag};
    const bool is_tag_left_alone = of_data == bytes;
    message.msg_iov = parts.data() + (is_tag_left_alone ? 1 : 0);
    message.msg_iovlen = is_tag_left_alone ? 1 : 2;
  }
};

}  // namespace

// One of the others. In a round, what is still to go and to come.
struct SocketChannel::Peer {
  Peer(Connection made, std::byte* room, const std::string& name_of_self)
      : connection(std::move(made)), self(name_of_self), sealed(room) {}

  Connection connection;
  const std::string& self;
  std::byte* sealed;  // room for an encrypted record

  Send sending;
  std::size_t record_out = 0;  // of which so many bytes are on their way; none: no record is
  std::size_t moved_out = 0;
  wire::RecordTag tag_out{};

  Receive receiving;
  std::size_t moved_in = 0;  // of the next record
  wire::RecordTag tag_in{};

  std::string fault;  // why the connection is of no more use

  [[nodiscard]] bool sends() const noexcept { return sending.bytes != 0; }
  [[nodiscard]] bool receives() const noexcept { return receiving.bytes != 0; }

  // Why, as of this one: "closed its connection".
  void end(std::string why) {
    if (fault.empty()) fault = std::move(why);
  }
  void end_of_connection(int error) { end(text("lost its connection to ", self, ": ", std::strerror(error))); }

  void send_some() {
    for (int turn = 0; turn < records_in_turn && sends(); ++turn) {
      if (record_out == 0) {
        record_out = std::min(wire::record_size, sending.bytes);
        moved_out = 0;
        connection.outgoing.seal(sending.data, sealed, record_out, tag_out);
      }
      // The system does not write to what it sends.
      const bool is_encrypted = connection.secrecy == wire::Secrecy::encrypted;
      std::byte* const from = is_encrypted ? sealed : const_cast<std::byte*>(sending.data);
      const Rest rest(from, record_out, tag_out, moved_out);
      const ssize_t sent = ::sendmsg(connection.socket.get(), &rest.message, MSG_NOSIGNAL);
      if (sent < 0 && is_passing(errno)) return;
      if (sent < 0) return end_of_connection(errno);
      moved_out += static_cast<std::size_t>(sent);
      if (moved_out < record_out + tag_out.size()) return;
      sending.data += record_out;
      sending.bytes -= record_out;
      record_out = 0;
    }
  }

  void receive_some() {
    for (int turn = 0; turn < records_in_turn && receives(); ++turn) {
      const std::size_t record = std::min(wire::record_size, receiving.bytes);
      Rest rest(receiving.data, record, tag_in, moved_in);
      const ssize_t got = ::recvmsg(connection.socket.get(), &rest.message, 0);
      if (got < 0 && is_passing(errno)) return;
      if (got < 0) return end_of_connection(errno);
      if (got == 0) return end("closed its connection (it died, or ended)");
      moved_in += static_cast<std::size_t>(got);
      if (moved_in < record + tag_in.size()) return;
      if (!connection.incoming.open(receiving.data, record, tag_in)) {
        return end("did not send what came over its connection: somebody else changed it on the way");
      }
      moved_in = 0;
      receiving.data += record;
      receiving.bytes -= record;
    }
  }
};

SocketChannel::SocketChannel(Rendezvous& rendezvous, const ConnectingMember& self, std::chrono::milliseconds silent_after,
                             Deadline deadline)
    : rendezvous_(rendezvous),
      key_(self.key),
      size_(self.size),
      index_(self.index),
      silent_after_(silent_after),
      peers_(static_cast<std::size_t>(size_)),
      bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!bell_.valid()) throw InvalidState(text("cannot wait for other processes: ", std::strerror(errno)), Site());
  if (size_ == 1) return;
  std::vector<std::optional<Connection>> made = connect_all(rendezvous, self, deadline);
  sealed_.resize(peers_.size() * wire::record_size);
  for (int member = 0; member < size_; ++member) names_.push_back(self.name(member));
  for (std::size_t member = 0; member < peers_.size(); ++member) {
    if (!made[member]) continue;
    wire::keep_alive(made[member]->socket.get(), std::chrono::floor<std::chrono::seconds>(silent_after_ / looks_for_silence));
    peers_[member] = std::make_unique<Peer>(std::move(*made[member]), sealed_.data() + member * wire::record_size,
                                            names_[static_cast<std::size_t>(index_)]);
  }
}

SocketChannel::~SocketChannel() = default;

std::string SocketChannel::why() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

std::string SocketChannel::note_key(int member) const { return text(key_, "/gave_up/", member); }

void SocketChannel::check(const std::string& what) const {
  if (is_failed_.load()) throw ExchangeFailed(text(what, " failed: ", why(), "."), Site());
}

void SocketChannel::fail(const char* why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!is_failed_.load()) why_ = why;
    is_failed_.store(true);
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(bell_.get(), &one, sizeof one);
}

void SocketChannel::transfer(std::span<const Send> sends, std::span<const Receive> receives, Deadline deadline) {
  std::size_t busy = 0;
  for (std::size_t step = 1; step < peers_.size(); ++step) {
    const std::size_t member = (static_cast<std::size_t>(index_) + step) % peers_.size();
    Peer& peer = *peers_[member];
    peer.sending = sends[member];
    peer.receiving = receives[member];
    if (peer.sends()) peer.send_some();
    if (peer.sends() || peer.receives()) ++busy;
  }
  std::vector<pollfd> watched(peers_.size() + 1);  // by peer, and the bell behind them
  watched.back() = {bell_.get(), POLLIN, 0};
  std::optional<Clock::time_point> silent_since;  // nothing came from anybody for a look
  while (busy != 0) {
    for (std::size_t member = 0; member < peers_.size(); ++member) {
      const Peer* const peer = peers_[member].get();
      const int events = peer == nullptr ? 0 : (peer->receives() ? POLLIN : 0) | (peer->sends() ? POLLOUT : 0);
      watched[member] = {events == 0 ? -1 : peer->connection.socket.get(), static_cast<short>(events), 0};
      if (peer != nullptr && !peer->fault.empty()) return;
    }
    // Up, so that nobody looks in vain just before the deadline.
    const std::int64_t look = std::max<std::int64_t>(1, (silent_after_ / looks_for_silence).count());
    const auto left = deadline ? std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count() : look;
    if (left <= 0) return;
    const int ready = ::poll(watched.data(), watched.size(), static_cast<int>(std::min(left, look)));
    if (is_failed_.load()) return;
    if (ready == 0) {
      if (!silent_since) silent_since = Clock::now();
      if (Clock::now() - *silent_since >= silent_after_) end_silent();
    }
    if (ready <= 0) continue;
    for (std::size_t member = 0; member < peers_.size(); ++member) {
      if (watched[member].fd < 0 || watched[member].revents == 0) continue;
      Peer& peer = *peers_[member];
      if (peer.receives() && (watched[member].revents & ~POLLOUT) != 0) peer.receive_some();
      if (peer.sends() && peer.fault.empty()) peer.send_some();
      if (!peer.sends() && !peer.receives()) --busy;
    }
  }
}

// A peer may have nothing to send because it waits itself; its host answers all the same, unless nothing comes through.
void SocketChannel::end_silent() {
  for (const std::unique_ptr<Peer>& peer : peers_) {
    if (peer == nullptr || !(peer->sends() || peer->receives())) continue;
    const std::chrono::milliseconds silence = wire::silence_of(peer->connection.socket.get());
    if (silence < silent_after_) continue;
    peer->end(text("cannot be reached from ", peer->self, ": its host has answered nothing for ",
                   human_time(std::chrono::nanoseconds(silence).count())));
  }
}

void SocketChannel::round(const std::string& what, std::span<const Send> sends, std::span<const Receive> receives,
                          Deadline deadline) {
  check(what);
  if (size_ == 1) return;
  transfer(sends, receives, deadline);
  const auto is_left = [](const std::unique_ptr<Peer>& peer) { return peer != nullptr && (peer->sends() || peer->receives()); };
  if (std::any_of(peers_.begin(), peers_.end(), is_left)) give_up(what, deadline);
}

std::string SocketChannel::what_it_said(int member, Deadline until) const {
  try {
    return text("gave up: ", rendezvous_.get(note_key(member), until));
  } catch (const Error&) {
    return {};  // it left no word, or there is no way to ask for it
  }
}

void SocketChannel::give_up(const std::string& what, Deadline deadline) {
  std::string reason;
  std::string missing;
  const auto until = Clock::now() + for_a_word;
  for (int member = 0; member < size_; ++member) {
    const Peer* const peer = peers_[static_cast<std::size_t>(member)].get();
    if (peer == nullptr) continue;
    if (peer->receives()) missing += text(missing.empty() ? "" : ", ", member);
    if (peer->fault.empty() || is_failed_.load()) continue;
    const std::string said = what_it_said(member, until);
    reason += text(reason.empty() ? "" : "; ", names_[static_cast<std::size_t>(member)], " ",
                   printable(said.empty() ? peer->fault : said, 200));
  }
  bool is_late = false;
  if (is_failed_.load()) {
    reason = why();
  } else if (reason.empty()) {
    is_late = deadline && Clock::now() >= *deadline;
    reason = missing.empty() ? "its deadline passed while it sent" : text("its deadline passed; members not there: ", missing);
  }
  {
    const std::lock_guard lock(mutex_);
    if (!is_failed_.load()) why_ = reason;
    is_failed_.store(true);
  }
  try {
    rendezvous_.put(note_key(index_), text(reason, ", in ", what));
  } catch (const std::exception&) {
    // The others learn from the closed connections that this one gave up, only not why.
  }
  for (std::unique_ptr<Peer>& peer : peers_) peer.reset();
  const std::string said = text(what, is_late ? " was given up: " : " failed: ", reason, ".");
  if (is_late) throw DeadlineExceeded(said, Site());
  throw ExchangeFailed(said, Site());
}

}  // namespace tutti
