#include "tutti/backends/cuda/device.h"

#include <atomic>
#include <chrono>

#include "tutti/backends/cuda/launcher.h"
#include "tutti/backends/cuda/stream.h"
#include "tutti/base/error.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"

namespace tutti {

namespace {
std::atomic<int> running_devices{0};
}  // namespace

CudaDevice::CudaDevice(const PhysicalDeviceInfo& info, const OpenOptions& options)
    : Device(options.id, info, options.full_name),
      context_(cuda::Context::of(static_cast<int>(info.ordinal))),
      memory_(context_, info.memory_bytes),
      pinned_(context_) {
  context_.add_device(options.full_name);
  ++running_devices;
}

std::unique_ptr<DeviceStream> CudaDevice::add_stream(const StreamOptions& options, cudaStream_t adopted) {
  auto stream = std::make_unique<CudaStream>(*this, options, context_, adopted);
  const std::lock_guard lock(mutex_);
  streams_.push_back(stream.get());
  return stream;
}

std::unique_ptr<DeviceStream> CudaDevice::make_stream(const StreamOptions& options) { return add_stream(options, nullptr); }

std::unique_ptr<DeviceStream> CudaDevice::adopt_stream(void* native, const StreamOptions& options, Site site) {
  // A stream per thread is another one for the launcher's thread.
  if (native == static_cast<void*>(cudaStreamPerThread))
    throw InvalidArgument("cudaStreamPerThread cannot be wrapped: it is another stream for every thread; pass one of your own",
                          site);
  // Null is how a missing stream looks.
  if (native == nullptr)
    throw InvalidArgument(
        "the null stream (the legacy default stream) cannot be wrapped; pass a stream made with cudaStreamCreate", site);
  return add_stream(options, static_cast<cudaStream_t>(native));
}

bool CudaDevice::reaches(const void* host, std::size_t bytes) noexcept {
  constexpr std::size_t worth_asking = std::size_t{64} << 10U;  // below, staging costs less than the question
  if (pinned_.contains(host)) return true;
  if (bytes < worth_asking || !context_.is_made()) return false;
  // Of memory it does not know the driver says nothing, and that is no error.
  CUmemorytype type{};
  CUpointer_attribute wanted = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  void* into = &type;
  return cuda::driver().cuPointerGetAttributes(1, &wanted, &into, reinterpret_cast<CUdeviceptr>(host)) == CUDA_SUCCESS &&
         type == CU_MEMORYTYPE_HOST;
}

void CudaDevice::stop() noexcept {
  const Deadline patience = Clock::now() + std::chrono::seconds(10);
  for (DeviceStream* stream : streams_) {
    if (stream->block_until(stream->last().value, patience)) continue;
    log(LogLevel::warning, text("work on ", name(), " did not end within 10 s of shutdown; it is left to the driver"));
    break;
  }
  if (--running_devices == 0) cuda::Launcher::instance().stop();
}

}  // namespace tutti
