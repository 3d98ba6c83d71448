// What the coordinator says: who waits for it, who reads it, and where it goes.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/link.h"
#include "tutti/mesh/control/messages.h"

namespace tutti::control {

namespace {

int milliseconds_until(Clock::time_point time, Clock::time_point now) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

}  // namespace

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
    const bool is_late = until && *until <= now;
    if (reading_) {
      // Also when it is late, the answer may be on its way: with who reads, or still in the socket.
      if (is_late && !taking_in_ && !has_more(0)) break;
      if (until && !is_late) {
        turn_.wait_until(lock, *until);
      } else {
        turn_.wait(lock);
      }
      continue;
    }
    reading_ = true;
    lock.unlock();
    // Also when it is late: the answer may have come while this process was stopped.
    const bool has_some = has_more(until ? milliseconds_until(*until, now) : -1);
    if (has_some) read();
    lock.lock();
    reading_ = false;
    if (is_late && !has_some) break;
  }
  // Who goes, however it ends, leaves the reading to another.
  if (--waiting_ > 0) turn_.notify_all();
  watch();
  if (!answer) throw_if_ended(site);
  return answer;
}

void Link::wait_for_abort(Clock::time_point until) {
  // The link's own thread reads meanwhile.
  std::unique_lock lock(mutex_);
  turn_.wait_until(lock, until, [this] { return aborted_ || !ended_.empty(); });
}

bool Link::has_more(int milliseconds) const {
  pollfd entry{socket_.get(), POLLIN, 0};
  return poll(&entry, 1, milliseconds) > 0;
}

void Link::read() {
  const auto set_taking_in = [this](bool value) {
    const std::lock_guard lock(mutex_);
    taking_in_ = value;
    if (!value && waiting_ > 1) turn_.notify_all();
  };
  set_taking_in(true);
  take_in();
  set_taking_in(false);
}

void Link::take_in() {
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
    case Answer::gone:
    case Answer::explained: {
      const std::uint64_t ticket = in.u64();
      if (const auto found = answers_.find(ticket); found != answers_.end()) found->second = message;
      if (auto called = called_.extract(ticket))
        tell_news({.answered = [call = std::move(called.mapped()), answer = std::string(message)] { call(answer); }});
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
      const std::uint64_t ended = in.u64();
      return tell_news({.rank = rank, .why = std::string(in.text(longest_why)), .ended = ended});
    }
    case Answer::aborted: {
      if (aborted_) return;
      aborted_ = read_report(in);
      tell_news({.why = aborted_->detail});
      return turn_.notify_all();
    }
    case Answer::stuck: return tell_news({.stuck = read_report(in)});
    case Answer::still: {
      const std::uint64_t wait = in.u64();
      return tell_news({.asked = Question{wait, in.u64()}});
    }
    case Answer::dropped:
      return end(text("the coordinator at ", options_.address, " counts this process as dead: ", in.text(longest_why)));
    case Answer::beat: return note_time(in.i64());
    case Answer::welcome:
    case Answer::refused: return;
  }
}

}  // namespace tutti::control
