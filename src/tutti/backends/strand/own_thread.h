// The driver of one strand whose work may block: a thread of its own, or the host thread that waits for the strand.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "tutti/backends/strand/driver.h"

namespace tutti {

// Nobody spins here: what the work waits for is other processes, which may want the core. A host thread that waits without a
// deadline runs the strand itself where nobody does yet: otherwise two threads would have to be woken, one after the other.
class OwnThread final : public StrandDriver {
 public:
  explicit OwnThread(const char* name) : name_(name) {}
  ~OwnThread() override;

  void attach(Strand& strand) override;
  void submitted(Strand& strand) override;
  void resumed(Strand& strand) noexcept override;
  bool block_until(Strand& strand, std::uint64_t value, Deadline deadline) override;
  Parallel& parallel() noexcept override { return serial_; }
  void stop() noexcept override;

 private:
  using Word = std::atomic<std::uint32_t>;

  // The strand can go on, and nobody runs it.
  void make_ready(Strand& strand) noexcept;
  // Whether it was ready; then it is the caller's to drive.
  bool take() noexcept;
  // Runs it up to this value, or until it must wait.
  void drive(Strand& strand, std::uint64_t value) noexcept;
  void work();
  // One pause of a waiting host: until the value is reached, or the strand is ready and this host was chosen to run it.
  void pause(Strand& strand, std::uint64_t value);

  const char* name_;
  Serial serial_;
  std::mutex mutex_;  // short
  std::condition_variable wake_;
  Word* helper_ = nullptr;  // of a host that waits and would run it
  bool is_ready_ = false;
  bool stopping_ = false;
  bool stopped_ = false;
  Strand* strand_ = nullptr;
  std::thread thread_;
};

}  // namespace tutti
