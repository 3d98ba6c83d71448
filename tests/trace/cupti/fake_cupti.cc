// A CUPTI without a GPU: it tells its subscriber of calls that a test says were made. Built as libcupti.so, so that the recorder
// finds it.
#include <cuda.h>
#include <cupti.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <ctime>

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
                           "cuMemcpyDtoH_v2"};

CUpti_CallbackId id_of(const char* name) {
  for (CUpti_CallbackId id = 1; id < names.size(); ++id) {
    if (std::strcmp(names[id], name) == 0) return id;
  }
  return 0;
}

std::array<bool, names.size()> enabled{};

}  // namespace

extern "C" {

// For the test: another profiler was first.
void fake_take() { is_taken = true; }

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

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult, const char** words) {
  *words = "a fake error";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc callback, void*) {
  subscriber = callback;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle*, CUpti_CallbackFunc callback, void*, CUpti_SubscriberParams* with) {
  if (is_taken) {
    std::strncpy(with->oldSubscriberName, "CUPTI for another one", with->oldSubscriberSize);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  subscriber = callback;
  return CUPTI_SUCCESS;
}

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
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId, std::uint8_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityGetNextRecord(std::uint8_t*, std::size_t, CUpti_Activity**) { return CUPTI_ERROR_MAX_LIMIT_REACHED; }
CUptiResult cuptiActivityFlushAll(std::uint32_t) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityFlushPeriod(std::uint32_t) { return CUPTI_SUCCESS; }
}
