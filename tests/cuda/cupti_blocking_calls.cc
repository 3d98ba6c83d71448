#include "cuda/cupti_blocking_calls.h"

#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string_view>

#include "tutti/hal/door.h"

namespace tutti::testing_cuda {

namespace {

struct Record {
  std::mutex mutex;
  std::map<std::string, std::uint64_t> inside;
  std::map<std::string, std::uint64_t> outside;
  std::atomic<std::uint64_t> seen{0};
  std::atomic<std::uint64_t> launches{0};
  CUpti_SubscriberHandle subscriber = nullptr;
  decltype(&::cuPointerGetAttribute) ask_pointer = nullptr;
};

Record& record() {
  static Record& instance = *new Record;
  return instance;
}

bool begins(std::string_view name, std::string_view part) { return name.substr(0, part.size()) == part; }
bool contains(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

// The question itself is a driver call, about which nothing is asked.
thread_local bool is_asking = false;

bool is_pageable(std::uint64_t address) {
  if (record().ask_pointer == nullptr) return false;
  CUmemorytype type{};
  is_asking = true;
  const CUresult result = record().ask_pointer(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
  is_asking = false;
  return result != CUDA_SUCCESS;  // memory the driver has never heard of
}

// Copies that are asynchronous by name and not so in fact. The versions of a function for other default streams have the same
// arguments.
bool has_pageable_side(std::string_view name, const CUpti_CallbackData& call) {
  const auto address = [](const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); };
  if (begins(name, "cuMemcpyHtoDAsync_v2")) {
    const auto* with = static_cast<const cuMemcpyHtoDAsync_v2_params*>(call.functionParams);
    return with->ByteCount > 0 && is_pageable(address(with->srcHost));
  }
  if (begins(name, "cuMemcpyDtoHAsync_v2")) {
    const auto* with = static_cast<const cuMemcpyDtoHAsync_v2_params*>(call.functionParams);
    return with->ByteCount > 0 && is_pageable(address(with->dstHost));
  }
  if (begins(name, "cuMemcpyAsync")) {
    const auto* with = static_cast<const cuMemcpyAsync_params*>(call.functionParams);
    return with->ByteCount > 0 && (is_pageable(with->dst) || is_pageable(with->src));
  }
  return false;
}

void note(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite != CUPTI_API_ENTER || is_asking) return;
  Record& all = record();
  all.seen.fetch_add(1, std::memory_order_relaxed);
  std::string name = call.functionName;
  if (begins(name, "cuLaunchKernel")) all.launches.fetch_add(1, std::memory_order_relaxed);
  if (has_pageable_side(name, call)) {
    name += " (pageable memory)";
  } else if (!is_blocking(name)) {
    return;
  }
  const std::lock_guard lock(all.mutex);
  ++(detail::door_depth() > 0 ? all.inside : all.outside)[name];
}

std::string describe(CUptiResult result) {
  const char* words = nullptr;
  cuptiGetResultString(result, &words);
  return words != nullptr ? words : "unknown CUPTI error";
}

}  // namespace

bool is_blocking(const std::string& full_name) {
  const std::string_view name = full_name;
  const bool is_async = contains(name, "Async");
  if (contains(name, "Synchronize")) return true;
  for (const char* copying : {"cuMemcpy", "cuMemset", "cudaMemcpy", "cudaMemset"}) {
    if (begins(name, copying)) return !is_async;
  }
  constexpr std::array others{
      "cuMemAlloc",
      "cuMemFree",
      "cudaMalloc",
      "cudaFree",  // memory of the device
      "cuMemHostAlloc",
      "cuMemHostRegister",
      "cuMemHostUnregister",
      "cudaHostAlloc",
      "cudaHostRegister",  // and pinned memory
      "cudaHostUnregister",
      "cuMemCreate",
      "cuMemMap",
      "cuMemUnmap",
      "cuMemSetAccess",
      "cuFuncLoad",
      "cuModuleLoad",
      "cuModuleUnload",
      "cuLibraryLoad",
      "cuLibraryUnload",
      "cudaLibraryLoad",
      "cuLinkComplete",
      "cuDevicePrimaryCtxRetain",
      "cuDevicePrimaryCtxReset",
      "cuDevicePrimaryCtxRelease",
      "cuCtxCreate",
      "cuCtxDestroy",
      "cudaDeviceReset",
      "cudaInitDevice",
      "cuStreamCreate",
      "cudaStreamCreate",
  };
  for (const char* other : others) {
    if (begins(name, other)) return !is_async;
  }
  return false;
}

BlockingCalls::BlockingCalls() {
  Record& all = record();
  if (void* driver = ::dlopen("libcuda.so.1", RTLD_NOW))
    all.ask_pointer = reinterpret_cast<decltype(all.ask_pointer)>(::dlsym(driver, "cuPointerGetAttribute"));
  CUptiResult result = cuptiSubscribe(&all.subscriber, note, nullptr);
  for (const CUpti_CallbackDomain domain : {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API}) {
    if (result == CUPTI_SUCCESS) result = cuptiEnableDomain(1, all.subscriber, domain);
  }
  if (result != CUPTI_SUCCESS) why_not_ = describe(result);
}

BlockingCalls::~BlockingCalls() {
  if (record().subscriber != nullptr) cuptiUnsubscribe(record().subscriber);
}

std::map<std::string, std::uint64_t> BlockingCalls::inside_door() const {
  const std::lock_guard lock(record().mutex);
  return record().inside;
}

std::map<std::string, std::uint64_t> BlockingCalls::outside_door() const {
  const std::lock_guard lock(record().mutex);
  return record().outside;
}

std::uint64_t BlockingCalls::seen() const { return record().seen.load(); }
std::uint64_t BlockingCalls::launches() const { return record().launches.load(); }

}  // namespace tutti::testing_cuda
