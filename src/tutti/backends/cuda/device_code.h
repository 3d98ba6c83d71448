// The device code of this process, file by file: a context loads all of it when it is made, so that no launch loads a module.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace tutti::cuda {

// The code of one file, known by any one kernel in it. Lives for ever. A static object of that file, because only the copy of
// the runtime that its own library holds knows its kernels.
class DeviceCode {
 public:
  using FindOne = cudaError_t (*)(cudaKernel_t* found);
  explicit DeviceCode(FindOne find) noexcept;
  DeviceCode(const DeviceCode&) = delete;
  DeviceCode& operator=(const DeviceCode&) = delete;

  // The file that was entered last; those before it follow. One of a library that is opened after the context was made is
  // loaded by its launches.
  static const DeviceCode* newest() noexcept;
  [[nodiscard]] const DeviceCode* next() const noexcept { return next_; }

  // Loads it into the current context; what has no code for this GPU is left out, and reported by whoever launches it.
  // May block: call through the door. Returns the number of kernels.
  std::size_t load() const noexcept;

 private:
  FindOne find_;
  const DeviceCode* next_ = nullptr;
};

// Would a launch in the current context find its code there? Asks the driver.
bool is_loaded(cudaKernel_t kernel) noexcept;

}  // namespace tutti::cuda
