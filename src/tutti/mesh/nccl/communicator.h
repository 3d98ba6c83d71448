// One communicator of NCCL with a CUDA stream of its own, and the only waits there are: loops that look at it, at a deadline and
// at what another thread says. NCCL has no deadlines, and its blocking calls may never come back.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "tutti/base/clock.h"
#include "tutti/base/short_lock.h"
#include "tutti/mesh/engines/rendezvous.h"
#include "tutti/mesh/nccl/nccl_library.h"

namespace tutti::nccl {

// What is under way, for messages.
struct Asked {
  const char* name;
  std::size_t bytes;
  Deadline deadline;
};

class Communicator {
 public:
  // Meets the others. Throws DeadlineExceeded, ExchangeFailed, InvalidState.
  Communicator(Rendezvous& rendezvous, const std::string& key, int size, int index, int ordinal, Deadline deadline);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] int index() const noexcept { return index_; }
  [[nodiscard]] cudaStream_t stream() const noexcept { return stream_.get(); }

  // Before the first step of a call: the GPU is the thread's, and nothing has failed. Throws ExchangeFailed.
  void begin(const Asked& asked);
  // Calls of NCCL that go together: issue(library, communicator, stream) makes them and returns the first complaint. They are on
  // the stream when this returns.
  template <class Issue>
  void submit(const Asked& asked, Issue&& issue) {
    const Library& api = library();
    ncclResult_t result = api.ncclGroupStart();
    if (result == ncclSuccess) result = issue(api, communicator_, stream_.get());
    const ncclResult_t ended = api.ncclGroupEnd();
    complete(asked, is_well(result) ? ended : result);
  }
  void check(const Asked& asked, cudaError_t result);
  // All that is on the stream is done.
  void finish(const Asked& asked);

  // From any thread: what is in progress, and every later call, throws with this.
  void fail(std::string_view why) noexcept;
  // What was sent arrives; of no more use then.
  void close(Deadline deadline) noexcept;

 private:
  struct StreamEnd {
    void operator()(cudaStream_t stream) const noexcept { cudaStreamDestroy(stream); }
  };
  struct EventEnd {
    void operator()(cudaEvent_t event) const noexcept { cudaEventDestroy(event); }
  };

  static bool is_well(ncclResult_t result) noexcept { return result == ncclSuccess || result == ncclInProgress; }
  void complete(const Asked& asked, ncclResult_t result);
  // Until is_done() says so. Throws at the deadline, and when someone called fail.
  template <class IsDone>
  void wait_for(const Asked& asked, IsDone&& is_done);
  [[nodiscard]] std::string why() const;
  [[nodiscard]] std::string describe(const Asked& asked) const;
  void note(std::string_view why) noexcept;
  [[noreturn]] void give_up(const Asked& asked, const std::string& reason, bool is_late);
  // NCCL's own complaint; what the control plane knows of it comes a moment later, and says more.
  [[noreturn]] void give_up_after(const Asked& asked, ncclResult_t complaint);
  void abort() noexcept;

  int size_;
  int index_;
  int ordinal_;
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, StreamEnd> stream_;
  std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, EventEnd> event_;
  ncclComm_t communicator_ = nullptr;  // null once it has failed or was closed
  std::atomic<bool> is_failed_{false};
  mutable ShortLock guard_;
  std::string why_;
};

}  // namespace tutti::nccl
