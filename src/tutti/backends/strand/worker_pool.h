// The threaded driver: a device's workers take turns running the strands that can go on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "tutti/backends/strand/driver.h"
#include "tutti/backends/strand/shares.h"

namespace tutti {

// Threads start with the first work and park when there is none, after spinning for a moment: waking a parked thread
// costs the host more than most ops, and the thread comes late.
class WorkerPool final : public StrandDriver, private Parallel {
 public:
  WorkerPool(unsigned workers, const char* name, bool lends_cores);
  ~WorkerPool() override;

  void attach(Strand& strand) override;
  void submitted(Strand& strand) override;
  void resumed(Strand& strand) noexcept override;
  bool block_until(Strand& strand, std::uint64_t value, Deadline deadline) override;
  Parallel& parallel() noexcept override { return *this; }
  void stop() noexcept override;

 private:
  // A kernel's chunks, open to idle workers while the kernel's own thread works on them too. In the pool's list while it has
  // seats: a worker too many would take the core of one that works.
  struct Team {
    Body body;
    void* context;
    Shares chunks;
    std::atomic<std::size_t> seats{0};    // written under the pool's mutex
    std::atomic<std::size_t> helpers{0};  // counted down under the pool's mutex: a helper's last touch of the team
    std::atomic<int> core_of_helper{-1};  // of the last that joined
    std::mutex error_mutex{};
    std::exception_ptr error{};
    Team* next_team = nullptr;
    void work() noexcept;
  };
  // Highest priority first, and among equals whoever came first.
  struct ReadyList {
    Strand* first = nullptr;
    Strand* last = nullptr;
    void add(Strand& strand) noexcept;
    Strand* take() noexcept;
  };

  [[nodiscard]] std::size_t width() const noexcept override { return width_.load(std::memory_order_relaxed); }
  std::size_t limit_width(std::size_t width) noexcept override;
  void run(std::size_t chunks, Body body, void* context) override;

  void start_threads();
  void work();
  void make_ready(Strand& strand) noexcept;
  // Wakes parked workers, `most` at most, if more is ready than there are workers looking for it.
  void wake_for_ready(std::size_t most) noexcept;
  // The mutex is held for a few instructions at a time: whoever slept for it would sleep far longer than it takes.
  [[nodiscard]] std::unique_lock<std::mutex> hold() noexcept;
  Team* join_team() noexcept;
  // The core of whoever brings work. A worker that looks for work there keeps it from coming, and while it waits for its turn it
  // counts as looking, so that nobody else is woken: it parks instead. One that is woken there to help goes to another core
  // first: where all cores were busy a moment ago the system wakes a thread where it last ran, and so again and again.
  void note_caller() noexcept;
  [[nodiscard]] bool is_in_the_way() const noexcept;
  void close(Team& team) noexcept;
  void drive(Strand& strand) noexcept;
  // Returns when there is something to take, or everything ends; spins first, then parks.
  void search(std::unique_lock<std::mutex>& held) noexcept;

  const unsigned workers_;
  const char* name_;
  std::atomic<std::size_t> width_;
  std::atomic<int> core_of_caller_{-1};
  // What workers keep writing; a submission to a strand that is being driven touches none of it.
  alignas(64) std::atomic<std::size_t> ready_count_{0};  // strands and seats anyone could take
  std::atomic<std::size_t> searching_{0};  // workers that spin and will look at what is ready before they run or park
  std::atomic<unsigned> parked_{0};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable team_done_;
  ReadyList ready_;
  bool stopped_ = false;  // the workers are gone
  Team* teams_ = nullptr;
  std::vector<std::thread> threads_;
  std::vector<Strand*> strands_;
};

}  // namespace tutti
