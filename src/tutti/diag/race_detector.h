// Hears of every access and of every step that orders them, and finds pairs that nothing orders.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "tutti/diag/happens_before.h"
#include "tutti/diag/races.h"
#include "tutti/diag/shadow_memory.h"
#include "tutti/hal/access_observer.h"

namespace tutti {

class RaceDetector final : public AccessObserver {
 public:
  // Never destroyed: threads may be inside it when the program ends.
  static RaceDetector& instance();

  void set_mode(RaceDetection mode);
  [[nodiscard]] RaceDetection mode() const noexcept { return mode_.load(std::memory_order_relaxed); }

  bool before_submit(const AccessingWork& work) override;
  void speak() override;
  void before_run(const AccessingWork& work) override;
  void host_knows(std::span<const TimelinePoint> points) noexcept override;
  void handed_out(const std::byte* begin, std::size_t bytes, bool is_unused) noexcept override;
  void host_uses(const std::byte* begin, std::size_t bytes, bool is_write, Site site);

  [[nodiscard]] std::vector<Race> races() const;
  [[nodiscard]] RaceFigures figures() const;
  void clear_races();

 private:
  enum class By : std::uint8_t { stream, calling_thread, program };

  RaceDetector() = default;
  ~RaceDetector() = default;
  // What the work would race with. Call with the lock held.
  std::vector<Race> look_for_races(const AccessingWork& work, By by);
  [[nodiscard]] Race make_race(const PastAccess& past, const AccessingWork& work, const MemoryUse& use, By by, Address from,
                               Address to) const;
  // Keeps them, and returns those that are new.
  std::vector<Race> keep(std::vector<Race> found);
  void judge(const AccessingWork& work, By by, bool is_speaking);

  std::atomic<RaceDetection> mode_{RaceDetection::off};
  mutable std::mutex mutex_;  // short, and a leaf: held while an order lock is
  HappensBefore order_;
  ShadowMemory memory_;
  std::vector<Race> races_;
  std::uint64_t found_ = 0;
  std::uint64_t unlisted_ = 0;
  std::atomic<std::uint64_t> unnoticed_{0};  // steps lost because there was no host memory
};

}  // namespace tutti
