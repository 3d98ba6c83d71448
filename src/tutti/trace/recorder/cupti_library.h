// CUPTI, opened when the program starts to use CUDA: the copy that is mapped already, or one that can be found.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tutti::tracing {

// CUpti_SubscriberParams of CUDA 13, which the headers of CUDA 12 do not have.
struct SubscriberParams {
  std::size_t struct_size;
  const char* name;
  char* holder;  // who subscribes already is written here
  std::size_t holder_size;
};
using SubscribeByName = CUptiResult (*)(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, SubscriberParams*);

using EnableDriverCall = CUptiResult (*)(CUpti_CallbackId, std::uint8_t);

struct CuptiLibrary {
  decltype(&::cuptiGetVersion) get_version = nullptr;
  decltype(&::cuptiGetResultString) get_result_string = nullptr;
  decltype(&::cuptiSubscribe) subscribe = nullptr;
  SubscribeByName subscribe_by_name = nullptr;  // cuptiSubscribe_v2(); null before CUDA 13
  decltype(&::cuptiEnableCallback) enable_callback = nullptr;
  decltype(&::cuptiGetCallbackName) get_callback_name = nullptr;
  decltype(&::cuptiActivityRegisterTimestampCallback) register_timestamp = nullptr;  // null before CUDA 11.6
  decltype(&::cuptiActivityRegisterCallbacks) register_buffers = nullptr;
  decltype(&::cuptiActivityEnable) enable_activity = nullptr;
  EnableDriverCall enable_driver_call = nullptr;  // cuptiActivityEnableDriverApi(); null before CUDA 12.5
  decltype(&::cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&::cuptiActivityFlushAll) flush_all = nullptr;
  std::string path;

  // Empty: it is there. Else why not.
  std::string open();
  [[nodiscard]] std::string describe(CUptiResult result) const;
};

}  // namespace tutti::tracing
