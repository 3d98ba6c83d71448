// The counter behind a stream: what was submitted, what is known complete, and who wants to hear of it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

#include "tutti/hal/point.h"

namespace tutti {

class Device;
class DeviceStream;
namespace detail {
struct SiteAccount;
}

// Timelines live for ever, so asking about a point of a stream that is gone is safe: all its work is done. Such a
// timeline is handed to a later stream, whose values go on where the earlier ones ended.
class alignas(64) Timeline {
 public:
  // Called with the argument once, under the timeline's lock: it must be short and must not touch the timeline.
  using Notify = void (*)(void* argument) noexcept;

  [[nodiscard]] std::uint64_t completed() const noexcept { return completed_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_done(std::uint64_t value) const noexcept {
    if (is_known_done(value)) return true;
    std::uint64_t reached = completed();
    if (reached < value && is_remote_.load(std::memory_order_relaxed)) [[unlikely]]
      reached = look();
    seen_.store(reached, std::memory_order_release);  // a thread that was late may set it back: it is a hint
    return reached >= value;
  }
  // Was it seen done before? Stays off the counter that the stream's own thread keeps writing.
  [[nodiscard]] bool is_known_done(std::uint64_t value) const noexcept { return seen_.load(std::memory_order_acquire) >= value; }

  [[nodiscard]] std::uint64_t submitted() const noexcept { return submitted_.load(std::memory_order_acquire); }
  void set_submitted(std::uint64_t value) noexcept { submitted_.store(value, std::memory_order_release); }

  // Everything up to `value` is complete. One thread at a time. Signals are lazy: with no one waiting this is a store
  // and a load.
  void advance(std::uint64_t value) noexcept {
    completed_.store(value, std::memory_order_seq_cst);
    if (lowest_waited_.load(std::memory_order_seq_cst) <= value) [[unlikely]]
      notify(value);
  }

  // The work runs elsewhere and no thread of ours advances the counter as it goes: whoever asks looks for himself.
  void set_remote() noexcept { is_remote_.store(true, std::memory_order_relaxed); }

  // False: the value is already reached and nothing was registered.
  bool when_reached(std::uint64_t value, Notify call, void* argument);
  // Takes back a registration; after this the argument is not used any more.
  void forget(void* argument) noexcept;

  // The furthest point a host thread has synced to, and where that was. A reader may meet the pair while it changes.
  struct HostSync {
    std::uint64_t value = 0;
    const detail::SiteAccount* by = nullptr;
  };
  [[nodiscard]] HostSync last_sync() const noexcept {
    return {synced_to_.load(std::memory_order_relaxed), synced_by_.load(std::memory_order_relaxed)};
  }
  void set_last_sync(HostSync sync) noexcept {
    if (synced_to_.load(std::memory_order_relaxed) >= sync.value) return;
    synced_by_.store(sync.by, std::memory_order_relaxed);
    synced_to_.store(sync.value, std::memory_order_relaxed);
  }

  [[nodiscard]] DeviceStream* stream() const noexcept { return stream_.load(std::memory_order_acquire); }

 private:
  friend StreamId open_timeline(DeviceStream& stream);
  friend void close_timeline(StreamId id) noexcept;
  struct Waiter {
    std::uint64_t value;
    Notify notify;
    void* argument;
  };
  static constexpr std::uint64_t nobody = std::numeric_limits<std::uint64_t>::max();

  void notify(std::uint64_t value) noexcept;
  void refresh_lowest() noexcept;
  [[nodiscard]] std::uint64_t look() const noexcept;

  std::atomic<std::uint64_t> completed_{0};
  std::atomic<std::uint64_t> lowest_waited_{nobody};
  std::atomic<DeviceStream*> stream_{nullptr};
  std::atomic<bool> is_remote_{false};
  alignas(64) std::atomic<std::uint64_t> submitted_{0};
  alignas(64) mutable std::atomic<std::uint64_t> seen_{0};
  std::atomic<std::uint64_t> synced_to_{0};
  std::atomic<const detail::SiteAccount*> synced_by_{nullptr};
  std::mutex mutex_;  // short: guards the list of waiters
  std::vector<Waiter> waiters_;
};

namespace detail {
inline constexpr std::uint32_t timelines_per_block = 256;
inline constexpr std::uint32_t most_timeline_blocks = 4096;
extern std::array<std::atomic<Timeline*>, most_timeline_blocks> timeline_blocks;
}  // namespace detail

// Does any stream of the device have work that is not done?
bool has_work(const Device& device);
// Grows as long as any stream gets something done.
std::uint64_t completed_by_all_streams();

// A timeline for a new stream.
StreamId open_timeline(DeviceStream& stream);
// The stream has drained and is going away.
void close_timeline(StreamId id) noexcept;

// Never for StreamId::none.
inline Timeline& timeline(StreamId id) noexcept {
  const std::uint32_t i = index_of(id);
  return detail::timeline_blocks[i / detail::timelines_per_block].load(
      std::memory_order_acquire)[i % detail::timelines_per_block];
}

// Waits for no lock and makes no system call. Done means retired: failures are told, memory may be had. On a remote stream
// whoever asks retires what the device has shown; while another thread does, the answer may be "not yet".
inline bool is_done(TimelinePoint point) noexcept {
  return point.stream == StreamId::none || timeline(point.stream).is_done(point.value);
}

// The same for a caller who has nothing else to do: sees to it that the answer can become true without a sync.
bool ask_done(TimelinePoint point) noexcept;

// Done for certain, asked without looking at the counter itself; false may mean "not looked yet".
inline bool is_known_done(TimelinePoint point) noexcept {
  return point.stream == StreamId::none || timeline(point.stream).is_known_done(point.value);
}

}  // namespace tutti
