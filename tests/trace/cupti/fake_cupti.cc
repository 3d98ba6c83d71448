// A CUPTI without a GPU: it tells its subscriber of calls that a test says were made. Built as libcupti.so, so that the recorder
// finds it.
#include <cuda.h>
#include <cupti.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <mutex>
#include <optional>

namespace {

CUpti_CallbackFunc subscriber = nullptr;
bool is_taken = false;

constexpr std::array names{"",
                           "cuStreamSynchronize",
                           "cuEventSynchronize",
                           "cuCtxSynchronize_v2",
                           "cuStreamQuery",
                           "cuMemcpyDtoHAsync_v2",
                           "cuMemcpyHtoDAsync_v2",
                           "cuMemAlloc_v2",
                           "cuMemFree_v2",
                           "cuModuleLoadData",
                           "cuLaunchKernel",
                           "cuLaunchHostFunc",
                           "cuMemcpyDtoH_v2",
                           "cuCtxDestroy_v2",
                           "cuDevicePrimaryCtxReset_v2",
                           "cuDevicePrimaryCtxRelease_v2",
                           "cuIpcOpenMemHandle_v2",
                           "cuCtxEnablePeerAccess",
                           "cuStreamDestroy_v2",
                           "cuEventDestroy_v2",
                           "cuGraphUpload",
                           "cuGraphExecDestroy",
                           "cuGraphicsMapResources"};

CUpti_CallbackId id_of(const char* name) {
  for (CUpti_CallbackId id = 1; id < names.size(); ++id) {
    if (std::strcmp(names[id], name) == 0) return id;
  }
  return 0;
}

std::array<bool, names.size()> enabled{};

std::uint32_t version = CUPTI_API_VERSION;
CUpti_BuffersCallbackRequestFunc give_buffer = nullptr;
CUpti_BuffersCallbackCompleteFunc take_buffer = nullptr;

constexpr std::uint32_t cuda_12_8 = 26;  // as cuptiGetVersion() tells it
constexpr std::uint32_t cuda_13_0 = 130000;

// Of a record as CUPTI of this version lays it out.
std::size_t bytes_of(CUpti_ActivityKind kind) {
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
    return version < cuda_13_0 ? sizeof(CUpti_ActivityKernel9) : sizeof(CUpti_ActivityKernel10);
  if (kind == CUPTI_ACTIVITY_KIND_MEMCPY)
    return version < cuda_12_8 ? sizeof(CUpti_ActivityMemcpy5) : sizeof(CUpti_ActivityMemcpy6);
  return sizeof(CUpti_ActivityMemset4);
}

class Buffer {
 public:
  Buffer() {
    std::size_t most = 0;
    give_buffer(&begin_, &size_, &most);
  }
  template <class Record>
  void add(Record record, CUpti_ActivityKind kind, std::uint64_t start) {
    record.kind = kind;
    record.start = start;
    record.end = start + 1000;
    record.deviceId = 1;
    record.streamId = 7;
    record.correlationId = static_cast<std::uint32_t>(used_);
    std::memcpy(begin_ + used_, &record, sizeof record);
    used_ += sizeof record;
  }
  void hand_over() {
    if (begin_ != nullptr) take_buffer(nullptr, 0, begin_, size_, used_);
    begin_ = nullptr;
  }

 private:
  std::uint8_t* begin_ = nullptr;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
};

// Not full: CUPTI keeps it until it is asked for.
std::optional<Buffer> partial;
std::mutex partial_mutex;

template <class Kernel, class Copy>
void tell_of_work(std::uint64_t start, int times) {
  const std::lock_guard lock(partial_mutex);
  Buffer& buffer = partial ? *partial : partial.emplace();
  for (int i = 0; i < times; ++i) {
    Kernel kernel{};
    kernel.name = "a_kernel";
    buffer.add(kernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, start);
    Copy copy{};
    copy.bytes = 12;
    buffer.add(copy, CUPTI_ACTIVITY_KIND_MEMCPY, start + 2000);
    CUpti_ActivityMemset4 fill{};
    fill.bytes = 34;
    buffer.add(fill, CUPTI_ACTIVITY_KIND_MEMSET, start + 4000);
    start += 6000;
  }
}

}  // namespace

extern "C" {

// For the test: another profiler was first.
void fake_take() { is_taken = true; }

// For the test: the version this is, before anybody asks.
void fake_version(std::uint32_t wanted) { version = wanted; }

// For the test: so many kernels, copies and fills, each 1 us long, from this moment on.
void fake_work(std::uint64_t start, int times) {
  if (version < cuda_12_8) {
    tell_of_work<CUpti_ActivityKernel9, CUpti_ActivityMemcpy5>(start, times);
  } else if (version < cuda_13_0) {
    tell_of_work<CUpti_ActivityKernel9, CUpti_ActivityMemcpy6>(start, times);
  } else {
    tell_of_work<CUpti_ActivityKernel10, CUpti_ActivityMemcpy6>(start, times);
  }
}

// For the test: the calling thread calls `name` with these arguments, which takes so long and gives this result.
void fake_call(const char* name, const void* arguments, std::uint64_t nanoseconds, int result) {
  const CUpti_CallbackId id = id_of(name);
  const auto returned = static_cast<CUresult>(result);
  const bool is_told = subscriber != nullptr && id != 0 && enabled[id];
  CUpti_CallbackData data{};
  data.functionName = name;
  data.functionParams = arguments;
  data.functionReturnValue = const_cast<CUresult*>(&returned);
  data.callbackSite = CUPTI_API_ENTER;
  if (is_told) subscriber(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
  const timespec time{static_cast<time_t>(nanoseconds / 1'000'000'000), static_cast<long>(nanoseconds % 1'000'000'000)};
  if (nanoseconds != 0) ::nanosleep(&time, nullptr);
  data.callbackSite = CUPTI_API_EXIT;
  if (is_told) subscriber(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, id, &data);
}

CUptiResult cuptiGetVersion(std::uint32_t* told) {
  *told = version;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult, const char** words) {
  *words = "a fake error";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc callback, void*) {
  if (is_taken) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  subscriber = callback;
  return CUPTI_SUCCESS;
}

#ifndef TUTTI_FAKE_CUPTI_12
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle*, CUpti_CallbackFunc callback, void*, CUpti_SubscriberParams* with) {
  if (is_taken) {
    std::strncpy(with->oldSubscriberName, "CUPTI for another one", with->oldSubscriberSize);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  subscriber = callback;
  return CUPTI_SUCCESS;
}

#endif

CUptiResult cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId id) {
  enabled[id] = enable != 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain, std::uint32_t id, const char** name) {
  if (id == 0 || id >= names.size()) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = names[id];
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc give, CUpti_BuffersCallbackCompleteFunc take) {
  give_buffer = give;
  take_buffer = take;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }
#ifndef TUTTI_FAKE_CUPTI_12  // the one of 12.4
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId, std::uint8_t) { return CUPTI_SUCCESS; }
#endif
CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
  std::uint8_t* const next = *record == nullptr ? buffer : reinterpret_cast<std::uint8_t*>(*record) + bytes_of((*record)->kind);
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  const std::lock_guard lock(partial_mutex);
  if (partial) partial->hand_over();
  partial.reset();
  return CUPTI_SUCCESS;
}
}
