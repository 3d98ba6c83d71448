// A stream as a strand: a ring of work that whoever drives it runs in order, one piece at a time.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "tutti/backends/strand/driver.h"
#include "tutti/backends/strand/fault_hook.h"
#include "tutti/hal/device_stream.h"
#include "tutti/hal/work_ring.h"

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
  void polled() noexcept override { driver_->polled(); }
  void cancel() override;
  [[nodiscard]] std::vector<PendingWork> pending() const override;

  // For the driver, one thread at a time.
  Progress run_one();
  // The first half of it: true where the next piece must wait, so that it is as after Progress::waiting.
  [[nodiscard]] bool must_wait();
  // Could run_one() run something now? For a driver that must choose before it runs.
  [[nodiscard]] bool can_run();
  [[nodiscard]] bool has_work() const noexcept { return !is_idle(); }
  [[nodiscard]] const Timeline& line() const noexcept { return own_timeline(); }

  // For work that came after its driver's threads left: whoever finds it, and has claimed it, cancels it, so that its points
  // resolve.
  void resolve_rest() noexcept;

  // The fault that held it is over.
  void resume() noexcept { driver_->resumed(*this); }

  // Owned by the driver: who may run it, and its place in a queue.
  alignas(64) std::atomic<bool> claimed{false};
  Strand* next_ready = nullptr;

 private:
  void run(WorkRing::Slot& work, std::uint64_t value);

  // What nobody changes, then what the running side writes.
  alignas(64) std::shared_ptr<StrandDriver> driver_;
  FaultHook* faults_;
  std::atomic<std::uint64_t> cancelled_up_to_{0};
  alignas(64) std::atomic<std::uint64_t> running_{0};
  std::uint64_t seen_submitted_ = 0;  // what it knows to be there
  WorkRing ring_;
};

}  // namespace tutti
