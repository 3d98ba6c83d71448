// A stream as a strand: a ring of work that whoever drives it runs in order, one piece at a time.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "tutti/backends/strand/driver.h"
#include "tutti/backends/strand/fault_hook.h"
#include "tutti/hal/device_stream.h"

namespace tutti {

class Strand final : public DeviceStream {
 public:
  enum class Progress : std::uint8_t {
    ran,      // one piece of work is done
    empty,    // nothing to do
    waiting,  // it resumes through the driver; the caller must not touch it any more
  };

  Strand(Device& device, const StreamOptions& options, std::shared_ptr<StrandDriver> driver, FaultHook* faults);
  ~Strand() override;

  [[nodiscard]] TimelinePoint full_until(std::uint64_t traffic_bytes) const override;
  TimelinePoint submit(const Work& work, std::span<const TimelinePoint> after) override;
  void kick() override { driver_->submitted(*this); }
  bool block_until(std::uint64_t value, Deadline deadline) override { return driver_->block_until(*this, value, deadline); }
  void cancel() override;
  [[nodiscard]] std::vector<PendingWork> pending() const override;

  // For the driver, one thread at a time.
  Progress run_one();
  // Could run_one() run something now? For a driver that must choose before it runs.
  [[nodiscard]] bool can_run();
  [[nodiscard]] bool has_work() const noexcept { return !is_idle(); }
  [[nodiscard]] const Timeline& line() const noexcept { return own_timeline(); }

  // The fault that held it is over.
  void resume() noexcept { driver_->resumed(*this); }

  // Owned by the driver: who may run it, and its place in a queue.
  alignas(64) std::atomic<bool> claimed{false};
  Strand* next_ready = nullptr;

 private:
  static constexpr std::size_t inline_after = 4;
  // What every piece of work needs comes first, in one cache line; what few need comes last.
  struct alignas(64) Slot {
    const WorkKind* kind;
    const char* name;
    Site site;
    Nanoseconds submitted_at;
    std::uint64_t traffic_bytes;
    std::vector<TimelinePoint>* more_after;  // all it comes after, when they do not fit below
    std::uint32_t after_count;
    bool is_copy;
    alignas(64) std::array<std::byte, most_payload_bytes> payload;
    std::array<TimelinePoint, inline_after> after;
  };
  struct FreeSlots {
    void operator()(std::byte* slots) const noexcept { ::operator delete(slots, std::align_val_t{alignof(Slot)}); }
  };
  [[nodiscard]] Slot& slot(std::uint64_t value) const noexcept {
    return *reinterpret_cast<Slot*>(slots_.get() + (value & mask_) * sizeof(Slot));
  }
  // Asks for the first lines of a slot ahead of their use: they are in the other side's cache.
  template <bool ForWriting>
  void fetch_ahead(std::uint64_t value) const noexcept;
  [[nodiscard]] static std::span<const TimelinePoint> after_of(const Slot& work) noexcept;
  void run(Slot& work, std::uint64_t value);

  // Three groups, each in cache lines of its own: what nobody changes, what the running side writes, what the submitting
  // side writes.
  alignas(64) std::shared_ptr<StrandDriver> driver_;
  FaultHook* faults_;
  std::uint64_t mask_;
  // Raw memory, touched slot by slot: a stream that is hardly used takes hardly any.
  std::unique_ptr<std::byte[], FreeSlots> slots_;
  std::atomic<std::uint64_t> cancelled_up_to_{0};
  alignas(64) std::atomic<std::uint64_t> running_{0};
  std::uint64_t seen_submitted_ = 0;  // what it knows to be there
  std::atomic<std::uint64_t> traffic_completed_{0};
  // Under order(). The other side's counters are read anew only when the bound seems reached, so that in the steady state
  // the two sides share none.
  alignas(64) std::uint64_t traffic_submitted_ = 0;
  mutable std::uint64_t seen_traffic_ = 0;
  mutable std::uint64_t seen_completed_ = 0;
};

}  // namespace tutti
