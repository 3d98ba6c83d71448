// One GPU as this process holds it: the primary context, made when it is first needed, shared by the logical devices on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tutti/backends/cuda/driver.h"
#include "tutti/backends/cuda/queue.h"
#include "tutti/base/site.h"
#include "tutti/hal/failure.h"

namespace tutti {

class CudaStream;

namespace cuda {

class Context {
 public:
  // The one context of the GPU with this ordinal; lives for ever.
  static Context& of(int ordinal);

  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Makes it current to the calling thread; creates it first if need be, with the code of all kernels, which the door accounts
  // for. Throws DeviceLost when the driver refuses.
  void enter(Site site) {
    if (!is_current()) [[unlikely]]
      enter_slowly(site);
  }
  // The same for one that is made, and what the driver says of it.
  CUresult reenter() noexcept { return is_current() ? CUDA_SUCCESS : set_current(); }
  [[nodiscard]] bool is_made() const noexcept { return is_made_.load(std::memory_order_acquire); }
  [[nodiscard]] const Properties& properties() const noexcept { return properties_; }
  [[nodiscard]] const std::string& bus_id() const noexcept { return bus_id_; }
  // GPU memory the context itself takes; 0 before it is made.
  [[nodiscard]] std::uint64_t own_bytes() const noexcept { return own_bytes_.load(std::memory_order_relaxed); }

  // The logical devices that share it, for messages.
  void add_device(const std::string& name);
  void add_stream(CudaStream& stream);

  // A result that says the context is broken for good (an illegal access, a hardware error): everything in flight fails.
  // False: the result is an ordinary one.
  bool lose_if_fatal(CUresult result) noexcept;
  [[nodiscard]] bool is_lost() const noexcept { return is_lost_.load(std::memory_order_acquire); }
  // Why it was lost; null while it is not.
  [[nodiscard]] FailureRef loss() const;

 private:
  explicit Context(int ordinal);
  [[nodiscard]] bool is_current() const noexcept {
    CUcontext now = nullptr;
    return current_ == this && is_made() && driver().cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == context_;
  }
  CUresult set_current() noexcept;
  void enter_slowly(Site site);
  void make(Site site);
  [[nodiscard]] FailureRef describe_loss(CUresult result, const std::vector<CudaStream*>& streams) const;

  static thread_local Context* current_;

  Properties properties_;
  std::string bus_id_;
  CUdevice device_ = 0;
  std::mutex mutex_;  // held while the context is made: those who need it wait for it inside the door
  CUcontext context_ = nullptr;
  std::atomic<bool> is_made_{false};
  std::atomic<std::uint64_t> own_bytes_{0};
  std::atomic<bool> is_lost_{false};
  mutable std::mutex loss_mutex_;
  FailureRef loss_;
  std::vector<std::string> devices_;
  std::vector<CudaStream*> streams_;
};

}  // namespace cuda

}  // namespace tutti
