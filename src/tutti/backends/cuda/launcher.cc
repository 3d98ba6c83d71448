#include "tutti/backends/cuda/launcher.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "tutti/backends/cuda/pause.h"
#include "tutti/backends/cuda/stream.h"

namespace tutti::cuda {

Launcher& Launcher::instance() {
  static Launcher& launcher = *new Launcher;
  return launcher;
}

void Launcher::start() {
  if (thread_.joinable() || is_stopping_) return;
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "tutti cuda");
    work();
  });
}

void Launcher::ready(CudaStream& stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (std::find(ready_.begin(), ready_.end(), &stream) == ready_.end()) ready_.push_back(&stream);
  has_news_ = true;
  start();
  wake_.notify_one();
}

void Launcher::watch(CudaStream& stream) {
  const std::lock_guard lock(mutex_);
  if (std::find(watched_.begin(), watched_.end(), &stream) == watched_.end()) watched_.push_back(&stream);
  has_news_ = true;
  start();
  wake_.notify_one();
}

void Launcher::stop() noexcept {
  std::thread ending;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    has_news_ = true;
    ending = std::move(thread_);
    wake_.notify_one();
  }
  if (ending.joinable()) ending.join();
}

void Launcher::work() noexcept {
  std::vector<CudaStream*> stalled;  // they wait for a launch on another stream, which only happens here
  Pause pause;
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    std::vector<CudaStream*> ready = std::exchange(ready_, {});
    std::vector<CudaStream*> watched = watched_;
    if (std::exchange(has_news_, false)) pause.restart();
    lock.unlock();
    bool any = false;
    for (CudaStream* stream : ready) {
      if (stream->launch_deferred(any) == CudaStream::Launched::waits_for_launch) stalled.push_back(stream);
    }
    std::vector<CudaStream*> again;
    if (any) again = std::exchange(stalled, {});
    for (CudaStream* stream : watched) stream->look_for_watched();
    lock.lock();
    for (CudaStream* stream : again) {
      if (std::find(ready_.begin(), ready_.end(), stream) == ready_.end()) ready_.push_back(stream);
    }
    std::erase_if(watched_, [](const CudaStream* stream) { return stream->is_watched_done(); });
    if (is_stopping_ || !ready_.empty()) continue;
    if (watched_.empty()) {
      wake_.wait(lock, [this] { return has_news_; });
    } else if (const auto rest = pause.next(); rest.count() > 0) {
      wake_.wait_for(lock, rest, [this] { return has_news_; });
    }
  }
}

}  // namespace tutti::cuda
