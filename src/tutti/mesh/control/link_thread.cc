// The link's own thread: heartbeats, silence, what is to be told, and reading while nobody waits.
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>

#include "tutti/base/human_time.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/link.h"
#include "tutti/mesh/control/messages.h"

namespace tutti::control {

void Link::run() {
  for (;;) {
    const auto now = Clock::now();
    beat(now);
    judge_silence(now);
    deliver_news();
    const auto next = std::min<Clock::duration>(next_beat_ - now, options_.dead_after / 4);
    const auto left = std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(next).count());
    std::array<epoll_event, 2> events{};
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), static_cast<int>(left));
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.u64 == 1) {
        std::uint64_t times = 0;
        [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &times, sizeof times);
        continue;
      }
      std::unique_lock lock(mutex_);
      if ((event.events & EPOLLOUT) != 0U) write_rest();
      if ((event.events & ~EPOLLOUT) == 0U || reading_ || !ended_.empty()) continue;
      reading_ = true;
      lock.unlock();
      read();
      lock.lock();
      reading_ = false;
      turn_.notify_all();
    }
    const std::lock_guard lock(mutex_);
    if (leaving_ && (unsent_.empty() || !ended_.empty())) return;
  }
}

void Link::beat(Clock::time_point now) {
  if (now < next_beat_) return;
  next_beat_ = now + options_.heartbeat;
  std::string doing;
  try {
    if (options_.doing) doing = options_.doing();
  } catch (const std::exception& error) {
    log(LogLevel::warning, text("what this process is doing cannot be told: ", error.what()));
    options_.doing = nullptr;
  }
  doing.resize(std::min(doing.size(), longest_doing));
  const std::lock_guard lock(mutex_);
  if (!ended_.empty() || leaving_) return;
  // Of a coordinator that does not read, one beat is enough to know when it does again.
  if (unsent_.empty()) write(message(Request::beat, [&](wire::FieldWriter& out) { out.text(doing); }));
}

void Link::judge_silence(Clock::time_point now) {
  const Clock::time_point heard{Clock::duration(heard_.load(std::memory_order_relaxed))};
  if (now - heard < options_.dead_after) return;
  // It may have spoken while this process was stopped.
  pollfd entry{socket_.get(), POLLIN, 0};
  if (poll(&entry, 1, 0) > 0) return;
  const std::lock_guard lock(mutex_);
  end(text("the coordinator at ", options_.address, " is lost: nothing was heard of it for ",
           human_time(std::chrono::nanoseconds(now - heard).count())));
}

void Link::deliver_news() {
  std::unique_lock lock(mutex_);
  // What nobody wants to hear yet is kept; there is little of it.
  std::vector<News> kept;
  std::vector<News> told;
  for (News& news : news_) {
    const bool is_wanted = news.answered || (news.asked   ? on_question_ != nullptr
                                             : news.stuck ? on_deadlock_ != nullptr
                                                          : on_loss_ != nullptr);
    (is_wanted ? told : kept).push_back(std::move(news));
  }
  news_ = std::move(kept);
  const auto on_loss = on_loss_;
  const auto on_deadlock = on_deadlock_;
  const auto on_question = on_question_;
  lock.unlock();
  for (const News& news : told) {
    try {
      if (news.answered) {
        news.answered();
      } else if (news.asked) {
        const bool still = on_question(news.asked->wait);
        send_quietly(message(Request::still_waits, [&](wire::FieldWriter& out) {
          out.u64(news.asked->wait).u64(news.asked->number).u8(still ? 1 : 0);
        }));
      } else if (news.stuck) {
        on_deadlock(*news.stuck);
      } else {
        on_loss(news.rank, news.why, news.ended);
      }
    } catch (const std::exception& error) {
      log(LogLevel::error, text("what was to be done when the coordinator spoke failed: ", error.what()));
    }
  }
}

}  // namespace tutti::control
