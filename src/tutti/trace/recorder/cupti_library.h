// CUPTI, opened when the program starts to use CUDA: the copy that is mapped already, or one that can be found.
#pragma once

#include <cupti.h>

#include <string>

namespace tutti::tracing {

struct CuptiLibrary {
  decltype(&::cuptiGetVersion) get_version = nullptr;
  decltype(&::cuptiGetResultString) get_result_string = nullptr;
  decltype(&::cuptiSubscribe) subscribe = nullptr;
  decltype(&::cuptiSubscribe_v2) subscribe_v2 = nullptr;  // null before CUDA 13
  decltype(&::cuptiEnableCallback) enable_callback = nullptr;
  decltype(&::cuptiGetCallbackName) get_callback_name = nullptr;
  decltype(&::cuptiActivityRegisterTimestampCallback) register_timestamp = nullptr;  // null before CUDA 11.6
  decltype(&::cuptiActivityRegisterCallbacks) register_buffers = nullptr;
  decltype(&::cuptiActivityEnable) enable_activity = nullptr;
  decltype(&::cuptiActivityEnableDriverApi) enable_driver_activity = nullptr;
  decltype(&::cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&::cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&::cuptiActivityFlushPeriod) flush_period = nullptr;
  std::string path;

  // Empty: it is there. Else why not.
  std::string open();
  [[nodiscard]] std::string describe(CUptiResult result) const;
};

}  // namespace tutti::tracing
