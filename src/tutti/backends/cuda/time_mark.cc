#include "tutti/backends/cuda/time_mark.h"

#include <map>

#include "tutti/backends/cuda/stream.h"
#include "tutti/hal/door.h"
#include "tutti/hal/lifecycle.h"

namespace tutti::cuda {

namespace {

struct Anchor {
  CUevent event = nullptr;
  Nanoseconds host = 0;
};

// A moment of the device's clock on the host's, taken once for each GPU on a stream of its own, so that nothing is before it.
Anchor anchor(Context& context) {
  static std::mutex& mutex = *new std::mutex;
  static auto& anchors = *new std::map<Context*, Anchor>;
  const std::lock_guard lock(mutex);
  Anchor& mine = anchors[&context];
  if (mine.event != nullptr) return mine;
  const BlockingRegion measuring(SyncReason::module_load, Site{});
  CUstream stream = nullptr;
  if (driver().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS ||
      driver().cuEventCreate(&mine.event, CU_EVENT_DEFAULT) != CUDA_SUCCESS ||
      driver().cuEventRecord(mine.event, stream) != CUDA_SUCCESS)
    return mine;
  while (driver().cuEventQuery(mine.event) == CUDA_ERROR_NOT_READY) {}
  mine.host = now();
  return mine;
}

Nanoseconds between(CUevent from, CUevent to) noexcept {
  float milliseconds = 0;
  if (driver().cuEventElapsedTime(&milliseconds, from, to) != CUDA_SUCCESS) return 0;
  return static_cast<Nanoseconds>(static_cast<double>(milliseconds) * 1e6);
}

}  // namespace

CudaTimeMark::CudaTimeMark(Context& context) : context_(context) {
  static_cast<void>(anchor(context_));
  if (driver().cuEventCreate(&event_, CU_EVENT_DEFAULT) != CUDA_SUCCESS) event_ = nullptr;
}

CudaTimeMark::~CudaTimeMark() {
  if (event_ != nullptr && is_usable() && !context_.is_lost()) driver().cuEventDestroy(event_);
}

void CudaTimeMark::pass(DeviceStream& stream) noexcept {
  if (event_ == nullptr || driver().cuEventRecord(event_, queue_of(stream).stream()) != CUDA_SUCCESS) return;
  has_passed_.store(true, std::memory_order_release);
}

Nanoseconds CudaTimeMark::time() const {
  const Anchor base = anchor(context_);
  return base.host + between(base.event, event_);
}

Nanoseconds CudaTimeMark::since(const TimeMark& earlier) const {
  const auto* other = dynamic_cast<const CudaTimeMark*>(&earlier);
  if (other == nullptr || &other->context_ != &context_) return time() - earlier.time();
  return between(other->event_, event_);
}

}  // namespace tutti::cuda
