#include "tutti/mesh/control/server.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/job_secret.h"

namespace tutti::control {

namespace {

constexpr SessionId listener_id = 0;
constexpr SessionId wake_session = 1;
constexpr std::size_t most_strangers = 128;
// When strangers crowd, one that has had this long makes room for the next.
constexpr std::chrono::milliseconds patience{250};

void add(int epoll, int fd, SessionId id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
    throw InvalidState(text("the coordinator cannot watch a socket: ", std::strerror(errno)), Site());
  }
}

}  // namespace

Server::Server(const CoordinatorOptions& options, Site site)
    : options_(options),
      key_(wire::control_key(options.secret)),
      assembly_({options.world, options.job, options.dead_after, options.store_limit}, *this),
      listener_(listen_on(options.listen, site)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      address_(bound_address(listener_.get())) {
  if (!epoll_.valid() || !wake_.valid()) throw InvalidState(text("cannot make a coordinator: ", std::strerror(errno)), site);
  add(epoll_.get(), listener_.get(), listener_id);
  add(epoll_.get(), wake_.get(), wake_session);
  wire::wipe(options_.secret.data(), options_.secret.size());
}

Server::~Server() = default;

void Server::stop() noexcept {
  stopped_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void Server::serve() {
  std::array<epoll_event, 256> events{};
  assembly_.tick(Clock::now());  // from now on nobody is here
  for (;;) {
    // What has come is dealt with before anybody is called late.
    const int count =
        epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), milliseconds_to_wait(Clock::now()));
    if (count < 0 && errno != EINTR) throw InvalidState(text("the coordinator cannot wait: ", std::strerror(errno)), Site());
    if (stopped_.load(std::memory_order_acquire)) return;
    const Time now = Clock::now();
    for (int i = 0; i < count; ++i) {
      const SessionId id = events[static_cast<std::size_t>(i)].data.u64;
      if (id == listener_id) {
        accept_waiting(now);
      } else if (const auto found = connections_.find(id); found != connections_.end()) {
        if ((events[static_cast<std::size_t>(i)].events & EPOLLOUT) != 0U) touch(*found->second);
        if ((events[static_cast<std::size_t>(i)].events & ~EPOLLOUT) != 0U) read(*found->second, now);
      }
    }
    flush(now);
    if (count == static_cast<int>(events.size())) continue;
    remove_stale(now);
    assembly_.tick(now);
    flush(now);
    if (is_over(now)) return;
  }
}

Deadline Server::ends_at() const {
  const Deadline since = assembly_.empty_since();
  if (!since) return std::nullopt;
  if (!assembly_.anybody_came()) return *since + options_.idle_limit;
  return *since + (assembly_.roster().all_came() ? options_.linger : std::max(options_.linger, options_.absent_limit));
}

bool Server::is_over(Time now) const {
  const Deadline end = ends_at();
  return end && *end <= now;
}

int Server::milliseconds_to_wait(Time now) const {
  Deadline next = assembly_.next_deadline();
  const auto consider = [&next](Time time) {
    if (!next || time < *next) next = time;
  };
  if (const Deadline end = ends_at()) consider(*end);
  if (!strangers_.empty()) consider(connections_.at(strangers_.front())->opened + options_.greeting_limit);
  if (!listens_) {
    const bool has_room = strangers_.size() < most_strangers;
    consider(std::max(listen_again_, has_room ? now : connections_.at(strangers_.front())->opened + patience));
  }
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

bool Server::make_room(Time now) {
  if (strangers_.size() < most_strangers) return true;
  if (now - connections_.at(strangers_.front())->opened < patience) return false;
  remove(strangers_.front(), {}, now);
  return true;
}

void Server::accept_waiting(Time now) {
  while (make_room(now)) {
    Descriptor fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) return;
      // No descriptor is left: the oldest stranger gives its own up, and the rest waits a moment.
      if (!strangers_.empty()) remove(strangers_.front(), {}, now);
      listen_again_ = now + patience;
      break;
    }
    send_at_once(fd.get());
    auto made = std::make_unique<Connection>();
    made->fd = std::move(fd);
    made->id = next_id_++;
    made->opened = now;
    Connection& connection = *made;
    connections_.emplace(connection.id, std::move(made));
    strangers_.push_back(connection.id);
    add(epoll_.get(), connection.fd.get(), connection.id);
    connection.greeting = std::make_unique<Greeting>(key_, connection.out);
    greet(connection);
  }
  // The kernel's queue holds who comes now, until there is room.
  if (listens_) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
  listens_ = false;
}

std::ptrdiff_t Server::Greeting::send(const char* data, std::size_t size) noexcept {
  out.append(data, size);
  return static_cast<std::ptrdiff_t>(size);
}

std::ptrdiff_t Server::Greeting::receive(char* data, std::size_t size) noexcept {
  const std::size_t taken = in.copy(data, size);
  in.erase(0, taken);
  return static_cast<std::ptrdiff_t>(taken);
}

void Server::greet(Connection& connection) {
  const wire::Progress progress = connection.greeting->session.handshake();
  touch(connection);
  if (progress == wire::Progress::blocked) return;
  if (progress == wire::Progress::ended) return close(connection.id);
  connection.seals = wire::seals_of(connection.greeting->session, wire::Side::coordinator);
  connection.in.append(connection.greeting->in);
  connection.greeting.reset();
  connection.state = Connection::State::proven;
}

void Server::read(Connection& connection, Time now) {
  std::array<char, 16384> buffer;
  const bool is_proven = connection.state != Connection::State::greeted;
  const ssize_t got = recv(connection.fd.get(), buffer.data(), is_proven ? buffer.size() : wire::largest_tls_greeting, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // Once it is closing, only its end is awaited.
  if (got <= 0) return remove(connection.id, {}, now);
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  if (connection.state == Connection::State::closing) return;
  if (is_proven) {
    connection.in.append(bytes);
  } else {
    connection.greeting->in += bytes;
    greet(connection);
    if (connection.state != Connection::State::proven) return;
  }
  receive_all(connection, now);
}

void Server::receive_all(Connection& connection, Time now) {
  const SessionId id = connection.id;
  while (const auto message = connection.in.next()) {
    if (!receive(connection, *message, now)) return;
  }
  if (connection.in.broken()) remove(id, "it sent a frame of an impossible length", now);
}

bool Server::receive(Connection& connection, std::string_view message, Time now) {
  using State = Connection::State;
  const auto opened = connection.seals->incoming.open(message);
  if (!opened) {
    remove(connection.id, "it sent a frame that was not sealed by it", now);
    return false;
  }
  assembly_.received(connection.id, *opened, now);
  if (connection.state == State::closing) return false;
  if (connection.state == State::proven && assembly_.is_member(connection.id)) {
    connection.state = State::member;
    connection.in.set_largest(wire::largest_request + wire::seal_size);
    std::erase(strangers_, connection.id);
  }
  return true;
}

void Server::touch(Connection& connection) {
  if (!connection.touched) touched_.push_back(connection.id);
  connection.touched = true;
}

void Server::send(SessionId to, std::string_view frames) {
  const auto found = connections_.find(to);
  if (found == connections_.end() || found->second->state == Connection::State::closing) return;
  Connection& connection = *found->second;
  touch(connection);
  if (connection.out.size() - connection.sent + frames.size() > options_.unread_limit) {
    connection.overflowed = true;
    return;
  }
  connection.seals->outgoing.close_onto(connection.out, frames);
}

void Server::close(SessionId session) {
  const auto found = connections_.find(session);
  if (found == connections_.end()) return;
  Connection& connection = *found->second;
  if (connection.state == Connection::State::closing) return;
  // From now on it is a stranger again, and has a stranger's time to read what was sent and to hang up.
  if (connection.state == Connection::State::member) {
    connection.opened = Clock::now();
    strangers_.push_back(session);
  }
  connection.state = Connection::State::closing;
  touch(connection);
}

void Server::flush(Time now) {
  // Who is found gone makes news for others.
  while (!touched_.empty()) {
    std::vector<SessionId> batch;
    batch.swap(touched_);
    for (const SessionId id : batch) {
      const auto found = connections_.find(id);
      if (found == connections_.end()) continue;
      Connection& connection = *found->second;
      connection.touched = false;
      if (connection.overflowed) {
        remove(id, "it did not read its messages", now);
      } else if (!write(connection)) {
        remove(id, {}, now);
      }
    }
  }
}

bool Server::write(Connection& connection) {
  while (connection.sent < connection.out.size()) {
    const ssize_t sent = ::send(connection.fd.get(), connection.out.data() + connection.sent,
                                connection.out.size() - connection.sent, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      // What has gone is not kept.
      connection.out.erase(0, std::exchange(connection.sent, 0));
      watch(connection, true);
      return true;
    }
    if (sent < 0) return false;
    connection.sent += static_cast<std::size_t>(sent);
  }
  if (connection.out.capacity() > wire::largest_request) {
    connection.out = {};
  } else {
    connection.out.clear();
  }
  connection.sent = 0;
  watch(connection, false);
  if (connection.state == Connection::State::closing) shutdown(connection.fd.get(), SHUT_WR);
  return true;
}

void Server::watch(Connection& connection, bool writing) {
  if (connection.watches_writing == writing) return;
  connection.watches_writing = writing;
  epoll_event event{};
  event.events = writing ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.u64 = connection.id;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.fd.get(), &event);
}

void Server::remove(SessionId id, std::string how, Time now) {
  std::erase(strangers_, id);
  connections_.erase(id);
  assembly_.closed(id, std::move(how), now);
}

void Server::remove_stale(Time now) {
  while (!strangers_.empty() && now - connections_.at(strangers_.front())->opened >= options_.greeting_limit) {
    remove(strangers_.front(), {}, now);
  }
  if (!listens_ && now >= listen_again_ && make_room(now)) {
    add(epoll_.get(), listener_.get(), listener_id);
    listens_ = true;
  }
}

}  // namespace tutti::control

namespace tutti {

std::unique_ptr<Coordinator> Coordinator::open(const CoordinatorOptions& options, Site site) {
  check_job_secret(options.secret, site);
  if (options.world < 1 || options.world > control::largest_world) {
    throw InvalidArgument(text("a world has 1 to ", control::largest_world, " members, not ", options.world), site);
  }
  if (options.job.size() > control::longest_name) {
    throw InvalidArgument(text("a job's name has at most ", control::longest_name, " bytes, not ", options.job.size()), site);
  }
  if (options.dead_after.count() < 1) throw InvalidArgument("dead_after must be at least 1 ms", site);
  return std::make_unique<control::Server>(options, site);
}

}  // namespace tutti
