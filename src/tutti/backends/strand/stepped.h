// The stepped driver: one seeded scheduler for every strand, so that a schedule can be chosen and replayed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "tutti/backends/strand/driver.h"

namespace tutti {

// Even seeds are lazy and partial: nothing runs before the host waits, or one piece when it polls, and then strands go by random
// ranks, so that one stream can run far ahead of another it should have waited for. Odd seeds pick evenly, and now and then run
// some work as it is submitted, so that the host's later decisions (reuse of memory, inputs that are ready) vary as well.
class SteppedDriver final : public StrandDriver {
 public:
  explicit SteppedDriver(std::uint64_t seed)
      : is_lazy_(seed % 2 == 0), state_(seed * 0x9E3779B97F4A7C15ULL + 0x2545F4914F6CDD1DULL) {}

  void attach(Strand& strand) override;
  void submitted(Strand& strand) override;
  void resumed(Strand& strand) noexcept override;
  bool block_until(Strand& strand, std::uint64_t value, Deadline deadline) override;
  void polled() noexcept override;
  Parallel& parallel() noexcept override { return serial_; }
  void stop() noexcept override;

  [[nodiscard]] std::vector<ScheduleStep> schedule() const;

 private:
  struct Ranked {
    Strand* strand;
    std::uint64_t rank;
  };
  std::uint64_t draw(std::uint64_t below) noexcept;
  std::size_t pick(const std::vector<Ranked*>& able) noexcept;
  bool step();

  mutable std::mutex mutex_;  // held while work runs: there is one schedule
  std::condition_variable changed_;
  const bool is_lazy_;
  std::uint64_t state_;
  std::uint64_t news_ = 0;  // submissions and releases so far
  std::vector<Ranked> strands_;
  std::vector<ScheduleStep> schedule_;
  Serial serial_;
};

}  // namespace tutti
