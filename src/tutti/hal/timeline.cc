#include "tutti/hal/timeline.h"

#include <algorithm>
#include <stdexcept>

#include "tutti/hal/access_observer.h"
#include "tutti/hal/device_stream.h"

namespace tutti {

namespace detail {
std::array<std::atomic<Timeline*>, most_timeline_blocks> timeline_blocks{};
}  // namespace detail

namespace {

struct Table {
  std::mutex mutex;
  std::uint32_t next = 1;  // 0 is StreamId::none
  std::vector<std::uint32_t> free_numbers;
};

Table& table() {
  static Table& instance = *new Table;
  return instance;
}

}  // namespace

bool Timeline::when_reached(std::uint64_t value, Notify call, void* argument) {
  {
    const std::lock_guard lock(mutex_);
    waiters_.push_back({value, call, argument});
    refresh_lowest();
    // The completer stores `completed` and then reads `lowest`; here it is the other way round, so one of us sees it.
    if (completed_.load(std::memory_order_seq_cst) >= value) {
      waiters_.pop_back();
      refresh_lowest();
      return false;
    }
  }
  if (is_remote_.load(std::memory_order_relaxed)) {
    if (DeviceStream* owner = stream()) owner->watch_until(value);
  }
  return true;
}

std::uint64_t Timeline::look() const noexcept {
  if (DeviceStream* owner = stream()) owner->look();
  return completed();
}

bool ask_done(TimelinePoint point) noexcept {
  if (!is_done(point)) {
    if (DeviceStream* owner = timeline(point.stream).stream()) {
      owner->expect(point.value);
      owner->polled();
    }
    if (!is_done(point)) return false;
  }
  if (AccessObserver* observer = access_observer()) [[unlikely]]
    observer->host_knows(std::span(&point, 1));
  return true;
}

void Timeline::forget(void* argument) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(waiters_, [&](const Waiter& w) { return w.argument == argument; });
  refresh_lowest();
}

void Timeline::notify(std::uint64_t value) noexcept {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < waiters_.size();) {
    if (waiters_[i].value > value) {
      ++i;
      continue;
    }
    const Waiter due = waiters_[i];
    waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(i));
    due.notify(due.argument);
  }
  refresh_lowest();
}

void Timeline::refresh_lowest() noexcept {
  std::uint64_t lowest = nobody;
  for (const Waiter& w : waiters_) lowest = std::min(lowest, w.value);
  lowest_waited_.store(lowest, std::memory_order_seq_cst);
}

bool has_work(const Device& device) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);  // a stream that goes away waits for it, so those we meet are there
  for (std::uint32_t id = 1; id < all.next; ++id) {
    Timeline& each = timeline(StreamId{id});
    const DeviceStream* owner = each.stream();
    if (owner != nullptr && &owner->device() == &device && !each.is_done(each.submitted())) return true;
  }
  return false;
}

std::uint64_t completed_by_all_streams() {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  std::uint64_t sum = 0;
  for (std::uint32_t id = 1; id < all.next; ++id) {
    const Timeline& each = timeline(StreamId{id});
    (void)each.is_done(each.submitted());  // a remote one is looked at
    sum += each.completed();
  }
  return sum;
}

StreamId open_timeline(DeviceStream& stream) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  std::uint32_t id = 0;
  if (!all.free_numbers.empty()) {
    id = all.free_numbers.back();
    all.free_numbers.pop_back();
  } else {
    const std::uint32_t block = all.next / detail::timelines_per_block;
    if (block >= detail::most_timeline_blocks) throw std::length_error("tutti: more than a million streams are open");
    if (detail::timeline_blocks[block].load(std::memory_order_relaxed) == nullptr) {
      detail::timeline_blocks[block].store(new Timeline[detail::timelines_per_block], std::memory_order_release);
    }
    id = all.next++;
  }
  timeline(StreamId{id}).stream_.store(&stream, std::memory_order_release);
  return StreamId{id};
}

void close_timeline(StreamId id) noexcept {
  timeline(id).stream_.store(nullptr, std::memory_order_release);
  timeline(id).is_remote_.store(false, std::memory_order_relaxed);
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  all.free_numbers.push_back(index_of(id));
}

}  // namespace tutti
