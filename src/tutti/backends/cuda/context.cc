#include "tutti/backends/cuda/context.h"

#include <algorithm>
#include <array>

#include "tutti/backends/cuda/device_code.h"
#include "tutti/backends/cuda/nvml.h"
#include "tutti/backends/cuda/stream.h"
#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/hal/device.h"
#include "tutti/hal/door.h"

namespace tutti::cuda {

thread_local Context* Context::current_ = nullptr;

Context& Context::of(int ordinal) {
  static std::mutex& mutex = *new std::mutex;
  static auto& made = *new std::vector<Context*>;
  const std::lock_guard lock(mutex);
  const auto found =
      std::find_if(made.begin(), made.end(), [&](const Context* each) { return each->properties().ordinal == ordinal; });
  if (found != made.end()) return **found;
  return *made.emplace_back(new Context(ordinal));
}

Context::Context(int ordinal) {
  const Driver& api = driver();
  api.cuDeviceGet(&device_, ordinal);
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    return api.cuDeviceGetAttribute(&value, which, device_) == CUDA_SUCCESS ? value : 0;
  };
  properties_.ordinal = ordinal;
  properties_.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  properties_.threads_per_multiprocessor = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  properties_.shared_bytes_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  properties_.l2_bytes = static_cast<std::size_t>(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  properties_.major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  properties_.minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  std::array<char, 32> id{};
  if (api.cuDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), device_) == CUDA_SUCCESS) bus_id_ = id.data();
}

CUresult Context::set_current() noexcept {
  const CUresult result = driver().cuCtxSetCurrent(context_);
  if (result == CUDA_SUCCESS) current_ = this;
  return result;
}

void Context::enter_slowly(Site site) {
  if (!is_made()) make(site);
  if (const CUresult result = set_current(); result != CUDA_SUCCESS)
    throw DeviceLost(text("the context of GPU ", properties_.ordinal, " cannot be used: ", driver().describe(result)), site);
}

void Context::make(Site site) {
  const BlockingRegion loading(SyncReason::module_load, site);
  const std::lock_guard lock(mutex_);
  if (is_made()) return;
  const std::uint64_t before = used_bytes(bus_id_.c_str()).value_or(0);
  if (const CUresult result = driver().cuDevicePrimaryCtxRetain(&context_, device_); result != CUDA_SUCCESS) {
    throw DeviceLost(text("GPU ", properties_.ordinal, " gives this process no context: ", driver().describe(result),
                          "; is it in use by another program, or full?"),
                     site);
  }
  // The runtime behind the kernels does its own part now, not at some first call outside the door.
  if (const cudaError_t result = cudaInitDevice(properties_.ordinal, 0, 0); result != cudaSuccess)
    throw DeviceLost(text("GPU ", properties_.ordinal, " cannot be used: ", cudaGetErrorString(result)), site);
  // Everything at once: about 1,400 small kernels, so tens of milliseconds beside the context's own hundreds. Which of them an
  // op launches depends on dtypes, layouts and sizes, and is known only in the launch, when the stream's locks are held.
  if (driver().cuCtxSetCurrent(context_) == CUDA_SUCCESS) {
    for (const DeviceCode* file = DeviceCode::newest(); file != nullptr; file = file->next()) (void)file->load();
  }
  // What other programs take at the same moment is counted in; there is no figure per process everywhere.
  const std::uint64_t after = used_bytes(bus_id_.c_str()).value_or(before);
  own_bytes_.store(after > before ? after - before : 0, std::memory_order_relaxed);
  is_made_.store(true, std::memory_order_release);
}

void Context::add_device(const std::string& name) {
  const std::lock_guard lock(loss_mutex_);
  devices_.push_back(name);
}

void Context::add_stream(CudaStream& stream) {
  const std::lock_guard lock(loss_mutex_);
  streams_.push_back(&stream);
}

FailureRef Context::loss() const {
  const std::lock_guard lock(loss_mutex_);
  return loss_;
}

FailureRef Context::describe_loss(CUresult result, const std::vector<CudaStream*>& streams) const {
  constexpr std::size_t most_listed = 8;
  std::vector<PendingWork> candidates;
  const DeviceStream* first_stream = streams.empty() ? nullptr : streams.front();
  for (const CudaStream* stream : streams) {
    for (PendingWork& work : stream->unfinished()) {
      if (candidates.empty()) first_stream = stream;
      candidates.push_back(std::move(work));
    }
  }
  auto failure = std::make_shared<Failure>();
  failure->kind = FailureKind::device_lost;
  failure->reason = text("the GPU's context is lost: ", driver().describe(result), ".");
  if (candidates.size() == 1) {
    failure->reason += text(" It was running ", candidates[0].op, ", called at ", candidates[0].site.to_string(), ".");
  } else if (!candidates.empty()) {
    failure->reason += text(" One of ", candidates.size(), " ops is at fault that were launched and not known to be done:");
    for (std::size_t i = 0; i < std::min(candidates.size(), most_listed); ++i)
      failure->reason += text(i == 0 ? " " : "; ", candidates[i].op, " at ", candidates[i].site.to_string());
    if (candidates.size() > most_listed) failure->reason += text("; and ", candidates.size() - most_listed, " later ones");
    failure->reason += ". Run with TUTTI_CUDA_DEBUG=1 to have it named.";
  }
  if (devices_.size() > 1) {
    failure->reason += " Lost with it, since they share the context:";
    for (const std::string& name : devices_) failure->reason += " " + name;
    failure->reason += ".";
  }
  failure->reason += " The CPU and other GPUs go on; this one can be used again by a new process";
  failure->op = candidates.empty() ? "unknown" : candidates[0].op;
  failure->site = candidates.empty() ? Site{} : candidates[0].site;
  failure->device = first_stream != nullptr ? first_stream->device().name() : std::string();
  return failure;
}

bool Context::lose_if_fatal(CUresult result) noexcept {
  switch (result) {
    case CUDA_SUCCESS:
    case CUDA_ERROR_NOT_READY:
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_INVALID_HANDLE: return is_lost();
    default: break;
  }
  std::vector<CudaStream*> streams;
  {
    const std::lock_guard lock(loss_mutex_);
    if (is_lost()) return true;
    streams = streams_;
    loss_ = describe_loss(result, streams);
    is_lost_.store(true, std::memory_order_release);
  }
  for (CudaStream* stream : streams) stream->catch_up();
  return true;
}

}  // namespace tutti::cuda
