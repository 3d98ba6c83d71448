#include "tutti/mesh/control/link.h"

#include <poll.h>
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
#include "tutti/base/human_time.h"
#include "tutti/base/log.h"
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

std::int64_t nanoseconds_of(Clock::time_point time) { return std::chrono::nanoseconds(time.time_since_epoch()).count(); }

int milliseconds_until(Clock::time_point time, Clock::time_point now) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

}  // namespace

std::string Link::local_host() const { return Address::parse(bound_address(socket_.get()), Site()).host; }

Link::Link(Descriptor socket, wire::FrameReader rest, const wire::Seals& seals, LinkOptions options)
    : options_(std::move(options)),
      socket_(std::move(socket)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      owner_(getpid()),
      heard_(Clock::now().time_since_epoch().count()),
      ahead_(options_.its_time - nanoseconds_of(Clock::now())),
      in_(std::move(rest)),
      opens_(seals.incoming),
      seals_(seals.outgoing),
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
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
    if (ended_.empty()) write(message(Request::leave));
  }
  wake();
  thread_->join();
  keep_in_forked_child(socket_.get());
  // The coordinator hangs up once it has heard; without that word a reset could overtake the leave.
  shutdown(socket_.get(), SHUT_WR);
  std::array<char, 4096> rest;
  const auto until = Clock::now() + leave_takes_at_most;
  while (ended_.empty() && wait_until(socket_.get(), true, until)) {
    const ssize_t got = recv(socket_.get(), rest.data(), rest.size(), 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) break;
  }
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
  return nanoseconds_of(then) + ahead_.load(std::memory_order_relaxed);
}

std::uint64_t Link::open_ticket() {
  const std::lock_guard lock(mutex_);
  answers_.emplace(next_ticket_, std::string());
  return next_ticket_++;
}

void Link::close_ticket(std::uint64_t ticket) noexcept {
  const std::lock_guard lock(mutex_);
  answers_.erase(ticket);
}

void Link::on_loss(std::function<void(int, const std::string&)> call) {
  const std::lock_guard lock(mutex_);
  on_loss_ = std::move(call);
  if (!news_.empty()) wake();
}

void Link::on_deadlock(std::function<void(const MeetingReport&)> call) {
  const std::lock_guard lock(mutex_);
  on_deadlock_ = std::move(call);
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
  ended_ = why;
  if (!leaving_) tell_news({-1, why, std::nullopt});
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

std::optional<std::string> Link::wait(std::uint64_t ticket, Deadline until, Site site) {
  check(site);
  std::unique_lock lock(mutex_);
  ++waiting_;
  watch();
  std::optional<std::string> answer;
  for (;;) {
    if (const auto found = answers_.find(ticket); found != answers_.end() && !found->second.empty()) {
      answer = std::move(found->second);
      answers_.erase(found);
      break;
    }
    if (aborted_ || !ended_.empty()) break;
    const auto now = Clock::now();
    if (until && *until <= now) break;
    if (reading_) {
      if (until) {
        turn_.wait_until(lock, *until);
      } else {
        turn_.wait(lock);
      }
      continue;
    }
    reading_ = true;
    lock.unlock();
    pollfd entry{socket_.get(), POLLIN, 0};
    if (poll(&entry, 1, until ? milliseconds_until(*until, now) : -1) > 0) read();
    lock.lock();
    reading_ = false;
    if (waiting_ > 1) turn_.notify_all();
  }
  --waiting_;
  watch();
  if (!answer) throw_if_ended(site);
  return answer;
}

void Link::wait_for_abort(Clock::time_point until) {
  // The link's own thread reads meanwhile.
  std::unique_lock lock(mutex_);
  turn_.wait_until(lock, until, [this] { return aborted_ || !ended_.empty(); });
}

void Link::read() {
  std::array<char, 16384> buffer;
  const ssize_t got = recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    const std::string why = got == 0 ? "it closed the connection" : std::strerror(errno);
    const std::lock_guard lock(mutex_);
    return end(
        text("the coordinator at ", options_.address, " is lost: ", why, ", last heard of ", silence().count(), " ms ago"));
  }
  heard_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  in_.append({buffer.data(), static_cast<std::size_t>(got)});
  dispatch_all();
}

void Link::dispatch_all() {
  const char* fault = nullptr;
  while (const auto sealed = in_.next()) {
    const auto message = opens_.open(*sealed);
    if (!message) {
      fault = "a frame came that it did not seal";
      break;
    }
    dispatch(*message);
  }
  if (in_.broken()) fault = "it sent a frame of an impossible length";
  if (fault == nullptr) return;
  const std::lock_guard lock(mutex_);
  end(text("the coordinator at ", options_.address, " is lost: ", fault));
}

void Link::tell_news(News news) {
  news_.push_back(std::move(news));
  wake();
}

void Link::dispatch(std::string_view message) {
  wire::FieldReader in(message);
  const auto kind = static_cast<Answer>(in.u8());
  const std::lock_guard lock(mutex_);
  switch (kind) {
    case Answer::released:
    case Answer::failed:
    case Answer::stored:
    case Answer::value:
    case Answer::declined:
    case Answer::withdrawn:
    case Answer::explained: {
      const auto found = answers_.find(in.u64());
      if (found == answers_.end()) return;
      found->second = message;
      if (waiting_ > 1) turn_.notify_all();
      return;
    }
    case Answer::progress: {
      const auto found = answers_.find(in.u64());
      if (found == answers_.end() || !found->second.empty()) return;
      std::string words = read_report(in).to_text();
      return log(LogLevel::warning, text("still waiting at ", words));
    }
    case Answer::lost: {
      const auto rank = static_cast<int>(in.u32());
      return tell_news({rank, std::string(in.text(longest_why)), std::nullopt});
    }
    case Answer::aborted: {
      if (aborted_) return;
      aborted_ = read_report(in);
      tell_news({-1, aborted_->detail, std::nullopt});
      return turn_.notify_all();
    }
    case Answer::stuck: return tell_news({-1, {}, read_report(in)});
    case Answer::dropped:
      return end(text("the coordinator at ", options_.address, " counts this process as dead: ", in.text(longest_why)));
    case Answer::beat: {
      // The message that took the shortest time tells best.
      const std::int64_t seen = in.i64() - nanoseconds_of(Clock::now());
      ahead_.store(std::max(seen, ahead_.load(std::memory_order_relaxed) - drift), std::memory_order_relaxed);
      return;
    }
    case Answer::welcome:
    case Answer::refused: return;
  }
}

}  // namespace tutti::control
