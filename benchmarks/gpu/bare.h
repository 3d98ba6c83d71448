// Bare CUDA as a host program sees it: the floor under every runtime. CUDA's own headers stay in bare.cu.
#pragma once

#include <cstddef>
#include <memory>

namespace bare {

// Small things on one non-blocking stream. A call that CUDA refuses ends the program.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void enqueue_add();                      // 32x32 floats
  void enqueue_spin(double microseconds);  // a kernel that takes about so long
  void sync();
  void sync_device();
  void record_event();
  void* allocate(std::size_t bytes);  // cudaMallocAsync
  void free(void* memory);
  float read_scalar();         // 4 bytes into pinned memory, then a sync
  void send_scalar(int slot);  // the same without the sync; slot 0 or 1
  float await_scalar(int slot);
  [[nodiscard]] bool adds_right();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Copies of `bytes` between the host and the device: enqueue and sync, seconds on the host's clock.
class HostCopies {
 public:
  explicit HostCopies(std::size_t bytes);
  ~HostCopies();
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;

  double to_device(bool pinned);
  double to_host(bool pinned);
  [[nodiscard]] bool copies_right();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

enum class Pass { copy, add, exp, sum };

// One pass over large arrays of random floats; seconds per call on the device, `calls` back to back.
class DevicePasses {
 public:
  explicit DevicePasses(std::size_t elements);  // a multiple of 4096
  ~DevicePasses();
  DevicePasses(const DevicePasses&) = delete;
  DevicePasses& operator=(const DevicePasses&) = delete;

  double seconds(Pass pass, int calls);
  [[nodiscard]] bool is_right(Pass pass);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bare
