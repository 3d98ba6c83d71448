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
      if (is_late) break;
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
    // Also when it is late: the answer may have come while this process was stopped.
    const bool has_more = poll(&entry, 1, until ? milliseconds_until(*until, now) : -1) > 0;
    if (has_more) read();
    lock.lock();
    reading_ = false;
    if (is_late && !has_more) break;
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
    case Answer::beat: return note_time(in.i64());
    case Answer::welcome:
    case Answer::refused: return;
  }
}

}  // namespace tutti::control
