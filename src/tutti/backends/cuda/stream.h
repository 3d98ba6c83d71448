// A CUDA stream as a DeviceStream: work is launched by the thread that submits it, and retired when the device has shown that
// it is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tutti/backends/cuda/context.h"
#include "tutti/backends/cuda/queue.h"
#include "tutti/hal/device_stream.h"
#include "tutti/hal/parallel.h"
#include "tutti/hal/work_ring.h"

namespace tutti {

// The device shows its progress by writing the value of the last finished work into a word of pinned memory. It is asked to
// do so lazily: when someone waits for a value, and now and then so that the ring drains. Work that comes after something the
// device cannot wait for (a CPU op in flight, work not launched yet) is launched later, by the launcher's thread.
class CudaStream final : public DeviceStream, public cuda::Queue {
 public:
  // `adopted`: a stream someone else made; null: one of its own, made with the first work.
  CudaStream(Device& device, const StreamOptions& options, cuda::Context& context, cudaStream_t adopted);
  ~CudaStream() override;

  [[nodiscard]] TimelinePoint full_until(std::uint64_t traffic_bytes) const override;
  TimelinePoint submit(const Work& work, std::span<const TimelinePoint> after) override;
  void kick() override {}
  bool block_until(std::uint64_t value, Deadline deadline) override;
  void look() noexcept override;
  // The same, but waits for another thread that is at it.
  void catch_up() noexcept;
  void expect(std::uint64_t value) noexcept override;
  void watch_until(std::uint64_t value) override;
  void cancel() override;
  [[nodiscard]] std::vector<PendingWork> pending() const override;
  std::shared_ptr<TimeMark> make_time_mark() override;
  [[nodiscard]] void* native() override;
  [[nodiscard]] bool is_handed_over(std::uint64_t value) const noexcept override { return issued() >= value; }

  void enter(Site site) override { context_.enter(site); }
  cuda::Trap* arm_trap(cuda::DescribeTrap describe) override;

  // What is launched between the two is recorded and not run; nobody else uses the stream. Kernels that note bad input do so
  // from `traps` on, one after the other. Null: it could not be recorded.
  void begin_graph(cuda::Trap* traps, Site site);
  [[nodiscard]] CUgraph end_graph() noexcept;
  // Of those kernels, so far.
  [[nodiscard]] const std::vector<cuda::DescribeTrap>& graph_traps() const noexcept { return graph_describes_; }

  // For the launcher's thread.
  enum class Launched : std::uint8_t { all, waits_for_call, waits_for_launch };
  // Launches what can be; `any` becomes true when something was.
  Launched launch_deferred(bool& any) noexcept;
  void look_for_watched() noexcept;
  // Has all come that someone is to be told of?
  [[nodiscard]] bool is_watched_done() const noexcept {
    return own_timeline().completed() >= watched_.load(std::memory_order_acquire);
  }

  // Launched and not shown to be done, oldest first: who may be to blame for a loss.
  [[nodiscard]] std::vector<PendingWork> unfinished() const;

 private:
  struct Shared;
  enum class Ready : std::uint8_t { yes, after_call, after_launch };

  [[nodiscard]] std::uint64_t issued() const noexcept { return issued_.load(std::memory_order_acquire); }
  // Makes the context, with all code, and then the queue: before any lock of the stream is taken, but for opening_.
  void prepare_slowly(Site site) override;
  // With issue_lock_ held:
  // The context is current. Opens the stream where the caller did not prepare it.
  void open(Site site) {
    prepare(site);
    context_.enter(site);
  }
  [[nodiscard]] Ready can_launch(std::span<const TimelinePoint> after, TimelinePoint& blocker) const;
  // False: something is wrong, perhaps with the context.
  bool launch(std::uint64_t value, const void* source) noexcept;
  [[nodiscard]] FailureRef launch_now(WorkRing::Slot& work, std::uint64_t value, const void* source) noexcept;
  void show_progress() noexcept;
  void complain(std::uint64_t value, FailureRef failure);
  FailureRef take_complaint(std::uint64_t value);
  void record_run(std::uint64_t value, const WorkRing::Slot& work) noexcept;
  // With the retiring lock of all CUDA streams held: in the order of the stream, what it comes after first.
  void retire_up_to(std::uint64_t value) noexcept;
  void retire(std::uint64_t value) noexcept;

  // The value the device has shown; everything that was launched, once the context is lost.
  [[nodiscard]] std::uint64_t shown() const noexcept;
  // Asks the driver whether the context still works; if not, everything in flight fails.
  void check_health() noexcept;

  cuda::Context& context_;
  cudaStream_t adopted_;
  const std::uint64_t show_every_;
  Shared* shared_ = nullptr;  // pinned, written by the device
  std::mutex opening_;        // who needs the stream waits inside the door for who opens it
  std::atomic<bool> is_open_{false};
  std::atomic<bool> is_registered_{false};  // with the timeline of what the next deferred work waits for
  std::atomic<std::uint64_t> cancelled_up_to_{0};

  ShortLock issue_lock_;  // held while work is launched
  std::atomic<std::uint64_t> issued_{0};
  std::atomic<std::uint64_t> asked_{0};    // the device will show at least this
  std::atomic<std::uint64_t> wanted_{0};   // someone looks for this
  std::atomic<std::uint64_t> watched_{0};  // someone is to be told of this
  std::atomic<std::uint64_t> questions_{0};
  std::uint64_t traffic_unshown_ = 0;
  std::map<int, CUevent> edge_events_;  // one for each GPU that work here waits for
  Serial serial_;
  std::mutex complaints_mutex_;                     // short
  std::map<std::uint64_t, FailureRef> complaints_;  // of launches that failed or were cancelled
  std::atomic<bool> has_complaints_{false};
  std::vector<cuda::DescribeTrap> traps_;  // by slot; armed where not null
  std::uint64_t retired_ = 0;              // under the retiring lock
  cuda::Trap* graph_traps_ = nullptr;      // while a graph is recorded
  std::vector<cuda::DescribeTrap> graph_describes_;
  struct Run {
    std::shared_ptr<TimeMark> begin;
    std::shared_ptr<TimeMark> end;
  };
  std::map<std::uint64_t, Run> runs_;  // of work launched while the journal records; under complaints_mutex_
  std::atomic<bool> has_runs_{false};
  WorkRing ring_;
};

}  // namespace tutti
