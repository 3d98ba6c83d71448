// Which functions of the driver can hold up the host, and what their arguments say. Told by name, so that any version of CUDA
// will do.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstdint>
#include <string_view>

#include "tutti/trace/format.h"

namespace tutti::tracing {

enum class CallKind : std::uint8_t {
  other,
  wait,           // of a stream, event or context
  query,          // a loop of these is a wait
  copy,           // synchronous
  async_copy,     // which may wait for staging
  fill,           // a synchronous memset, which waits if it is of host memory
  always,         // takes its time by itself: allocation, loading
  if_long,        // usually a look-up, but the first one may load
  host_callback,  // ends a wait elsewhere
};

struct CallClass {
  CallKind call = CallKind::other;
  WaitKind wait{};
};

CallClass class_of(std::string_view name) noexcept;

struct CallArguments {
  std::uint64_t stream = 0;  // or event
  std::uint64_t bytes = 0;
  CopyDirection direction = CopyDirection::none;
  HostMemory memory = HostMemory::none;
};

// What the driver knows of memory; to be set before arguments are read.
extern decltype(&::cuPointerGetAttribute) ask_pointer;

CallArguments arguments_of(std::string_view name, const CUpti_CallbackData& call) noexcept;

}  // namespace tutti::tracing
