// What a kernel of this backend launches on: the CUDA stream, the device's figures, and a place to note bad input.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "tutti/base/site.h"

namespace tutti {

class DeviceStream;

namespace cuda {

struct Properties {
  int ordinal = 0;
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  int shared_bytes_per_block = 0;  // the most a block can ask for
  std::size_t l2_bytes = 0;
  int major = 0;
  int minor = 0;
};

// Pinned memory, zero when handed out. A kernel that meets bad input claims `code` with atomicCAS and the winner writes the
// rest; the host reads it when the work is done.
struct Trap {
  unsigned code;  // 0: all is well
  unsigned padding;
  long long first;
  long long second;
};
// Says in words what the kernel noted.
using DescribeTrap = std::string (*)(const Trap& trap);

class Queue {
 public:
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  [[nodiscard]] cudaStream_t stream() const noexcept { return stream_; }
  [[nodiscard]] const Properties& properties() const noexcept { return *properties_; }
  // Makes its device current to the calling thread: for what a kernel prepares before it is issued, which finds it current.
  virtual void enter(Site site) = 0;
  // For the work being issued, once: where its kernel notes bad input. The outputs then fail with the description.
  virtual Trap* arm_trap(DescribeTrap describe) = 0;

 protected:
  Queue() = default;
  ~Queue() = default;
  cudaStream_t stream_ = nullptr;
  const Properties* properties_ = nullptr;
};

// The queue behind a stream of this backend.
Queue& queue_of(DeviceStream& stream) noexcept;

}  // namespace cuda

}  // namespace tutti
