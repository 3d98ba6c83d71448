// The one thread of this backend: launches work that had to wait for the host's side, and watches for values someone is to be
// told of. It starts with the first such need and sleeps when there is none.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace tutti {

class CudaStream;

namespace cuda {

class Launcher {
 public:
  static Launcher& instance();

  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  // The stream may be able to launch deferred work. Called under the lock of a timeline too: only hands it over.
  void ready(CudaStream& stream) noexcept;
  void watch(CudaStream& stream);
  // Ends the thread; what is left is not launched.
  void stop() noexcept;

 private:
  Launcher() = default;
  void start();
  void work() noexcept;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<CudaStream*> ready_;
  std::vector<CudaStream*> watched_;
  bool has_news_ = false;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace cuda

}  // namespace tutti
