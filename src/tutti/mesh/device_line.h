// The GPUs of a group of processes, one of each process, and how they exchange: from GPU to GPU, or through the host. For the
// files of this module.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tutti/base/clock.h"
#include "tutti/mesh/engines/exchange.h"

namespace tutti {

class Device;
class NcclExchange;

namespace detail {

class ProcessGroup;

// Lives for ever, with its group. All processes of the group make the same lines, by their names.
class DeviceLine {
 public:
  // `devices`: those of all members, "GPU:0, GPU:1"; `own`: this process's.
  DeviceLine(ProcessGroup& group, std::string devices, Device& own);
  ~DeviceLine();
  DeviceLine(const DeviceLine&) = delete;
  DeviceLine& operator=(const DeviceLine&) = delete;

  [[nodiscard]] const std::string& devices() const noexcept { return devices_; }
  // Whether tensors stay on this process's GPU for an exchange. Yes until it is known that the GPUs cannot meet: that is decided
  // with the others, when the first of the line's collectives runs.
  [[nodiscard]] bool stays_on_gpu() const noexcept { return is_cuda_ && way_.load(std::memory_order_acquire) != Way::host; }

  // For the group's thread, after a roll call: exchanges memory of the GPU, or of the host. All processes get the same way.
  Exchange& exchange(bool is_on_gpu, Site site);

  // From the member's thread.
  void fail(const std::string& why, std::uint64_t ended) noexcept;
  // What was sent arrives, for a while.
  void close() noexcept;

 private:
  enum class Way : std::uint8_t { unknown, nccl, host };

  void decide();
  // Other processes than those it was decided with, or an exchange that has failed.
  void begin_anew();
  void try_to_decide();
  [[nodiscard]] std::string own_card() const;
  // Why the GPUs with these cards cannot meet; empty: they can.
  [[nodiscard]] std::string obstacle(const std::vector<std::string>& cards) const;
  [[nodiscard]] std::vector<std::string> shown_by_all(const std::string& topic, const std::string& own, Deadline deadline);

  ProcessGroup& group_;
  const std::string devices_;
  Device& own_;
  const bool is_cuda_;
  std::atomic<Way> way_{Way::unknown};
  std::unique_ptr<NcclExchange> owned_;
  std::unique_ptr<Exchange> staged_;
  std::string undecided_;  // why; empty: it is, or was not tried yet
  std::uint64_t generation_ = 0;
  std::uint64_t opening_ = 0;
  std::mutex guard_;
  NcclExchange* gpus_ = nullptr;  // as owned_, once it counts
  std::string lost_;              // why; empty: nobody ever was
  std::uint64_t ended_ = 0;       // the number of that end
};

}  // namespace detail

}  // namespace tutti
