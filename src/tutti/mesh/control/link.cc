#include "tutti/mesh/control/link.h"

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
#include "tutti/mesh/control/forked_child.h"
#include "tutti/mesh/control/messages.h"

namespace tutti::control {

namespace {

constexpr std::uint64_t socket_id = 0;
constexpr std::uint64_t wake_id = 1;
constexpr std::chrono::milliseconds leave_takes_at_most{1'000};
// So far may two clocks drift apart from one beat to the next.
constexpr std::int64_t drift = 1'000'000;

constexpr const char* has_left = "this process has left the job";

std::int64_t steady_nanoseconds(Clock::time_point time) { return std::chrono::nanoseconds(time.time_since_epoch()).count(); }

}  // namespace

std::string Link::local_host() const { return Address::parse(bound_address(socket_.get()), Site()).host; }

Link::Link(Descriptor socket, wire::FrameReader rest, wire::Seals seals, LinkOptions options)
    : options_(std::move(options)),
      socket_(std::move(socket)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      owner_(getpid()),
      heard_(Clock::now().time_since_epoch().count()),
      ahead_(options_.its_time - steady_nanoseconds(Clock::now())),
      in_(std::move(rest)),
      opens_(std::move(seals.incoming)),
      seals_(std::move(seals.outgoing)),
      next_beat_(Clock::now()) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = wake_id;
  if (!epoll_.valid() || !wake_.valid() || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) {
    throw InvalidState(text("cannot make a member's connection: ", std::strerror(errno)), Site());
  }
  close_in_forked_child(socket_.get());
  try {
    dispatch_all();
    const std::lock_guard lock(mutex_);
    watch();
    thread_ = std::make_unique<std::thread>([this] { run(); });
  } catch (...) {
    keep_in_forked_child(socket_.get());
    throw;
  }
}

Link::~Link() {
  if (forked()) {
    // The thread stayed in the parent, the socket is closed already, and nothing here may speak for the parent.
    static_cast<void>(thread_.release());
    static_cast<void>(socket_.release());
    return;
  }
  leave();
}

void Link::leave() noexcept {
  if (forked()) return;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(leaving_, true)) return;
    if (ended_.empty()) write(message(Request::leave));
  }
  wake();
  thread_->join();
  keep_in_forked_child(socket_.get());
  bool is_heard = true;
  {
    const std::lock_guard lock(mutex_);
    if (ended_.empty()) {
      ended_ = has_left;
      is_heard = false;
    }
    turn_.notify_all();
  }
  // The coordinator hangs up once it has heard, which wakes who reads; without that word a reset could overtake the leave.
  shutdown(socket_.get(), SHUT_WR);
  std::array<char, 4096> rest;
  const auto until = Clock::now() + leave_takes_at_most;
  while (!is_heard && wait_until(socket_.get(), true, until)) {
    const ssize_t got = recv(socket_.get(), rest.data(), rest.size(), 0);
    is_heard = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  }
  shutdown(socket_.get(), SHUT_RDWR);
}

bool Link::forked() const noexcept { return getpid() != owner_; }

void Link::check(Site site) {
  if (forked()) {
    throw InvalidState(text("this process (pid ", getpid(), ") was forked from a member (pid ", owner_,
                            ") and is none itself: join anew under a rank of its own, or leave the mesh to the parent"),
                       site);
  }
  const std::lock_guard lock(mutex_);
  throw_if_ended(site);
}

void Link::throw_if_ended(Site site) const {
  if (aborted_) throw JobAborted(*aborted_, site);
  if (!ended_.empty()) throw CoordinatorLost(ended_, site);
}

std::chrono::milliseconds Link::silence() const {
  const Clock::time_point heard{Clock::duration(heard_.load(std::memory_order_relaxed))};
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - heard);
}

std::int64_t Link::coordinator_time(Clock::time_point then) const {
  return steady_nanoseconds(then) + ahead_.load(std::memory_order_relaxed);
}

void Link::note_time(std::int64_t its_time) {
  // The message that took the shortest time tells best.
  const std::int64_t seen = its_time - steady_nanoseconds(Clock::now());
  ahead_.store(std::max(seen, ahead_.load(std::memory_order_relaxed) - drift), std::memory_order_relaxed);
}

std::uint64_t Link::open_ticket() {
  const std::lock_guard lock(mutex_);
  answers_.emplace(next_ticket_, std::string());
  return next_ticket_++;
}

std::uint64_t Link::open_ticket(std::function<void(const std::string& answer)> call) {
  const std::lock_guard lock(mutex_);
  called_.emplace(next_ticket_, std::move(call));
  return next_ticket_++;
}

void Link::close_ticket(std::uint64_t ticket) noexcept {
  decltype(called_)::node_type let_go;  // behind the lock
  const std::lock_guard lock(mutex_);
  answers_.erase(ticket);
  let_go = called_.extract(ticket);
}

void Link::on_loss(std::function<void(int, const std::string&, std::uint64_t)> call) {
  const std::lock_guard lock(mutex_);
  on_loss_ = std::move(call);
  if (!news_.empty()) wake();
}

void Link::on_deadlock(std::function<void(const MeetingReport&)> call) {
  const std::lock_guard lock(mutex_);
  on_deadlock_ = std::move(call);
}

void Link::on_question(std::function<bool(std::uint64_t)> call) {
  const std::lock_guard lock(mutex_);
  on_question_ = std::move(call);
}

void Link::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

// Under the mutex, as all below that has no lock of its own.
void Link::watch() {
  std::uint32_t wanted = waiting_ == 0 ? EPOLLIN : 0U;
  if (!unsent_.empty()) wanted |= EPOLLOUT;
  if (!ended_.empty()) wanted = 0;
  if (wanted == watched_) return;
  epoll_event event{};
  event.events = wanted;
  event.data.u64 = socket_id;
  const int change = wanted == 0 ? EPOLL_CTL_DEL : watched_ == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (epoll_ctl(epoll_.get(), change, socket_.get(), &event) == 0) watched_ = wanted;
}

void Link::end(const std::string& why) {
  if (!ended_.empty()) return;
  ended_ = leaving_ ? has_left : why;  // the coordinator hangs up on who has left
  if (!leaving_) tell_news({.why = why});
  unsent_.clear();
  watch();
  // Wakes who reads.
  shutdown(socket_.get(), SHUT_RDWR);
  turn_.notify_all();
}

void Link::send(std::string_view frames, Site site) {
  check(site);
  const std::lock_guard lock(mutex_);
  write(frames);
  throw_if_ended(site);
}

void Link::send_quietly(std::string_view frames) noexcept {
  if (forked()) return;
  const std::lock_guard lock(mutex_);
  if (ended_.empty()) write(frames);
}

void Link::write(std::string_view frames) {
  const bool is_first = unsent_.empty();
  seals_.close_onto(unsent_, frames);
  if (is_first) write_rest();
}

void Link::write_rest() {
  std::size_t sent = 0;
  while (sent < unsent_.size()) {
    const ssize_t count = ::send(socket_.get(), unsent_.data() + sent, unsent_.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) {
      // What the coordinator said last may still be there to be read.
      sent = unsent_.size();
      break;
    }
    sent += static_cast<std::size_t>(count);
  }
  unsent_.erase(0, sent);
  watch();
}

}  // namespace tutti::control
