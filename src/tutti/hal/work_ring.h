// The bounded ring behind a stream: every piece of work that was submitted and has not resolved, with its payload.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "tutti/hal/device_stream.h"

namespace tutti {

// Two sides: those who submit, under the stream's order lock, and whoever resolves the work, one thread at a time. What each
// writes lies in cache lines of its own.
class WorkRing {
 public:
  static constexpr std::size_t inline_after = 4;
  // What every piece of work needs comes first, in one cache line; what few need comes last.
  struct alignas(64) Slot {
    const WorkKind* kind;
    const char* name;
    const char* function;
    Site site;
    Nanoseconds submitted_at;
    std::uint64_t traffic_bytes;
    std::vector<TimelinePoint>* more_after;  // all it comes after, when they do not fit below
    std::uint32_t after_count;
    bool is_copy;
    alignas(64) std::array<std::byte, DeviceStream::most_payload_bytes> payload;
    std::array<TimelinePoint, inline_after> after;

    [[nodiscard]] std::span<const TimelinePoint> comes_after() const noexcept {
      return {more_after != nullptr ? more_after->data() : after.data(), after_count};
    }
    void forget_after() noexcept {
      delete more_after;
      more_after = nullptr;
      after_count = 0;
    }
  };

  explicit WorkRing(const StreamOptions& options);
  WorkRing(const WorkRing&) = delete;
  WorkRing& operator=(const WorkRing&) = delete;

  [[nodiscard]] Slot& at(std::uint64_t value) const noexcept {
    return *reinterpret_cast<Slot*>(slots_.get() + (value & mask_) * sizeof(Slot));
  }
  [[nodiscard]] std::size_t size() const noexcept { return mask_ + 1; }

  // The submitting side.
  void put(std::uint64_t value, const Work& work, std::span<const TimelinePoint> after, bool whole = true);
  // The value that must be reached before work of so many bytes fits; 0: there is room.
  [[nodiscard]] std::uint64_t full_until(const Timeline& line, std::uint64_t traffic_bytes) const noexcept;

  // The resolving side: the work of this slot is over.
  void resolved(Slot& work) noexcept {
    traffic_completed_.store(traffic_completed_.load(std::memory_order_relaxed) + work.traffic_bytes, std::memory_order_release);
  }
  // Asks for the first lines of a slot ahead of their use: they are in the other side's cache.
  template <bool ForWriting>
  void fetch_ahead(std::uint64_t value) const noexcept {
    constexpr std::size_t line = 64;
    constexpr std::size_t lines = 5;  // the head and a payload of three operands
    const auto* first = reinterpret_cast<const std::byte*>(&at(value));
    for (std::size_t i = 0; i < lines; ++i) __builtin_prefetch(first + i * line, ForWriting ? 1 : 0);
  }

  // What has not resolved, oldest first. Call with the stream's order lock held: slots are overwritten under it only.
  [[nodiscard]] std::vector<PendingWork> pending(const Timeline& line, StreamId stream, std::uint64_t running) const;

 private:
  struct FreeSlots {
    void operator()(std::byte* slots) const noexcept { ::operator delete(slots, std::align_val_t{alignof(Slot)}); }
  };

  std::uint64_t most_ops_;
  std::uint64_t most_bytes_;
  std::uint64_t mask_;
  // Raw memory, touched slot by slot: a stream that is hardly used takes hardly any.
  std::unique_ptr<std::byte[], FreeSlots> slots_;
  alignas(64) std::atomic<std::uint64_t> traffic_completed_{0};
  // The other side's counters are read anew only when the bound seems reached, so that in the steady state the two sides
  // share none.
  alignas(64) std::uint64_t traffic_submitted_ = 0;
  mutable std::uint64_t seen_traffic_ = 0;
  mutable std::uint64_t seen_completed_ = 0;
};

}  // namespace tutti
