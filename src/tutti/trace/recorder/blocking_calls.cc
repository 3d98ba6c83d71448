#include "tutti/trace/recorder/blocking_calls.h"

#include <algorithm>
#include <array>
#include <optional>

namespace tutti::tracing {

decltype(&::cuPointerGetAttribute) ask_pointer = nullptr;

namespace {

struct Named {
  std::string_view begin;
  CallClass what;
};

// The first that the name begins with.
constexpr std::array named{
    Named{"cuStreamSynchronize", {CallKind::wait, WaitKind::stream}},
    Named{"cuEventSynchronize", {CallKind::wait, WaitKind::event}},
    Named{"cuCtxSynchronize", {CallKind::wait, WaitKind::context}},
    Named{"cuStreamQuery", {CallKind::query, WaitKind::poll}},
    Named{"cuEventQuery", {CallKind::query, WaitKind::poll}},
    Named{"cuLaunchHostFunc", {CallKind::host_callback, WaitKind::host_callback}},
    Named{"cuStreamAddCallback", {CallKind::host_callback, WaitKind::host_callback}},
    Named{"cuMemAllocHost", {CallKind::always, WaitKind::host_memory}},
    Named{"cuMemHostAlloc", {CallKind::always, WaitKind::host_memory}},
    Named{"cuMemFreeHost", {CallKind::always, WaitKind::host_memory}},
    Named{"cuMemHostRegister", {CallKind::always, WaitKind::host_memory}},
    Named{"cuMemHostUnregister", {CallKind::always, WaitKind::host_memory}},
    Named{"cuMemAlloc", {CallKind::always, WaitKind::allocation}},
    Named{"cuMemCreate", {CallKind::always, WaitKind::allocation}},
    Named{"cuMemMap", {CallKind::if_long, WaitKind::allocation}},
    Named{"cuMemSetAccess", {CallKind::always, WaitKind::allocation}},
    Named{"cuArrayCreate", {CallKind::always, WaitKind::allocation}},
    Named{"cuMemFree", {CallKind::always, WaitKind::release}},
    Named{"cuMemUnmap", {CallKind::always, WaitKind::release}},
    Named{"cuMemRelease", {CallKind::always, WaitKind::release}},
    Named{"cuMemPoolTrimTo", {CallKind::always, WaitKind::release}},
    Named{"cuMemPoolDestroy", {CallKind::always, WaitKind::release}},
    Named{"cuArrayDestroy", {CallKind::always, WaitKind::release}},
    Named{"cuModuleGetLoadingMode", {}},
    Named{"cuModuleGetFunctionCount", {}},
    Named{"cuLibraryGetKernelCount", {}},
    Named{"cuModuleLoad", {CallKind::always, WaitKind::loading}},
    Named{"cuModuleUnload", {CallKind::always, WaitKind::loading}},
    Named{"cuLibraryLoad", {CallKind::always, WaitKind::loading}},
    Named{"cuLibraryUnload", {CallKind::always, WaitKind::loading}},
    Named{"cuLinkComplete", {CallKind::always, WaitKind::loading}},
    Named{"cuFuncLoad", {CallKind::if_long, WaitKind::loading}},
    Named{"cuModuleGetFunction", {CallKind::if_long, WaitKind::loading}},
    Named{"cuLibraryGetKernel", {CallKind::if_long, WaitKind::loading}},
    Named{"cuKernelGetFunction", {CallKind::if_long, WaitKind::loading}},
    Named{"cuGraphInstantiate", {CallKind::if_long, WaitKind::loading}},
    Named{"cuGraphUpload", {CallKind::if_long, WaitKind::loading}},
    Named{"cuDevicePrimaryCtxRetain", {CallKind::if_long, WaitKind::loading}},
    Named{"cuCtxCreate", {CallKind::always, WaitKind::loading}},
    Named{"cuCtxDestroy", {CallKind::if_long, WaitKind::resource}},
    Named{"cuDevicePrimaryCtxRelease", {CallKind::if_long, WaitKind::resource}},
    Named{"cuDevicePrimaryCtxReset", {CallKind::if_long, WaitKind::resource}},
    Named{"cuStreamDestroy", {CallKind::if_long, WaitKind::resource}},
    Named{"cuEventDestroy", {CallKind::if_long, WaitKind::resource}},
    Named{"cuGraphExecDestroy", {CallKind::if_long, WaitKind::resource}},
    Named{"cuIpc", {CallKind::if_long, WaitKind::resource}},
    Named{"cuCtxEnablePeerAccess", {CallKind::if_long, WaitKind::resource}},
    Named{"cuCtxDisablePeerAccess", {CallKind::if_long, WaitKind::resource}},
    Named{"cuGraphicsMapResources", {CallKind::if_long, WaitKind::resource}},
    Named{"cuGraphicsUnmapResources", {CallKind::if_long, WaitKind::resource}},
};

bool contains(std::string_view name, std::string_view part) noexcept { return name.find(part) != std::string_view::npos; }

std::uint64_t number(const void* pointer) noexcept { return reinterpret_cast<std::uintptr_t>(pointer); }

// None: memory of a device.
HostMemory memory_at(std::uint64_t address) noexcept {
  if (ask_pointer == nullptr) return HostMemory::none;
  CUmemorytype type{};
  if (ask_pointer(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS) return HostMemory::pageable;
  return type == CU_MEMORYTYPE_HOST ? HostMemory::pinned : HostMemory::none;
}

// A side that the caller says is the host's.
HostMemory host_memory_at(const void* address) noexcept {
  const HostMemory found = memory_at(number(address));
  return found == HostMemory::none ? HostMemory::pinned : found;  // managed
}

CallArguments copied(std::uint64_t bytes, HostMemory from, HostMemory to) noexcept {
  CallArguments out;
  out.bytes = bytes;
  const bool from_host = from != HostMemory::none;
  const bool to_host = to != HostMemory::none;
  out.direction = from_host && to_host ? CopyDirection::on_host
                  : from_host          ? CopyDirection::to_device
                  : to_host            ? CopyDirection::to_host
                                       : CopyDirection::between_devices;
  out.memory = from == HostMemory::pageable || to == HostMemory::pageable ? HostMemory::pageable : std::max(from, to);
  return out;
}

HostMemory side(CUmemorytype type, const void* host, CUdeviceptr device) noexcept {
  if (type == CU_MEMORYTYPE_HOST) return host_memory_at(host);
  return type == CU_MEMORYTYPE_UNIFIED ? memory_at(device) : HostMemory::none;
}

template <class Copy>
CallArguments of_shape(const Copy* copy, std::uint64_t depth) noexcept {
  if (copy == nullptr) return {};
  return copied(copy->WidthInBytes * copy->Height * depth, side(copy->srcMemoryType, copy->srcHost, copy->srcDevice),
                side(copy->dstMemoryType, copy->dstHost, copy->dstDevice));
}

// Functions that differ by "Async" have the same arguments, with the stream behind them; those for other default streams have the
// same names with "_ptds" or "_ptsz" behind.
std::optional<CallArguments> arguments_of_copy(std::string_view name, const void* given) noexcept {
  const bool is_async = contains(name, "Async");
  const auto finish = [&](CallArguments out, CUstream stream) {
    if (is_async) out.stream = number(stream);
    return out;
  };
  if (name.starts_with("cuMemcpyHtoD")) {
    const auto& with = *static_cast<const cuMemcpyHtoDAsync_v2_params*>(given);
    return finish(copied(with.ByteCount, host_memory_at(with.srcHost), HostMemory::none), is_async ? with.hStream : nullptr);
  }
  if (name.starts_with("cuMemcpyDtoH")) {
    const auto& with = *static_cast<const cuMemcpyDtoHAsync_v2_params*>(given);
    return finish(copied(with.ByteCount, HostMemory::none, host_memory_at(with.dstHost)), is_async ? with.hStream : nullptr);
  }
  if (name.starts_with("cuMemcpyHtoA")) {
    const auto& with = *static_cast<const cuMemcpyHtoAAsync_v2_params*>(given);
    return finish(copied(with.ByteCount, host_memory_at(with.srcHost), HostMemory::none), is_async ? with.hStream : nullptr);
  }
  if (name.starts_with("cuMemcpyAtoH")) {
    const auto& with = *static_cast<const cuMemcpyAtoHAsync_v2_params*>(given);
    return finish(copied(with.ByteCount, HostMemory::none, host_memory_at(with.dstHost)), is_async ? with.hStream : nullptr);
  }
  if (name.starts_with("cuMemcpy2D")) {
    const auto& with = *static_cast<const cuMemcpy2DAsync_v2_params*>(given);
    return finish(of_shape(with.pCopy, 1), is_async ? with.hStream : nullptr);
  }
  if (name.starts_with("cuMemcpy3D") && !contains(name, "Peer") && !contains(name, "Batch")) {
    const auto& with = *static_cast<const cuMemcpy3DAsync_v2_params*>(given);
    return finish(of_shape(with.pCopy, with.pCopy == nullptr ? 0 : with.pCopy->Depth), is_async ? with.hStream : nullptr);
  }
  if (name == "cuMemcpy" || name.starts_with("cuMemcpy_") || name.starts_with("cuMemcpyAsync")) {
    const auto& with = *static_cast<const cuMemcpyAsync_params*>(given);
    return finish(copied(with.ByteCount, memory_at(with.src), memory_at(with.dst)), is_async ? with.hStream : nullptr);
  }
  return std::nullopt;
}

}  // namespace

CallClass class_of(std::string_view name) noexcept {
  for (const Named& each : named) {
    if (!name.starts_with(each.begin)) continue;
    // Ordered by a stream, they hold up nobody.
    return contains(name, "Async") ? CallClass{} : each.what;
  }
  const bool is_async = contains(name, "Async");
  if (name.starts_with("cuMemset")) return is_async ? CallClass{} : CallClass{CallKind::fill, WaitKind::fill};
  if (!name.starts_with("cuMemcpy")) return {};
  // Between devices nobody waits on the host.
  for (const char* inside : {"DtoD", "DtoA", "AtoD", "AtoA", "Peer"}) {
    if (contains(name, inside)) return {};
  }
  return is_async ? CallClass{CallKind::async_copy, WaitKind::staging} : CallClass{CallKind::copy, WaitKind::copy};
}

CallArguments arguments_of(std::string_view name, const CUpti_CallbackData& call) noexcept {
  const void* given = call.functionParams;
  if (given == nullptr) return {};
  if (name.starts_with("cuMemcpy")) return arguments_of_copy(name, given).value_or(CallArguments{});
  CallArguments out;
  if (name.starts_with("cuMemset")) {
    const auto address = static_cast<const cuMemsetD8_v2_params*>(given)->dstDevice;  // the first of all of them
    out.memory = memory_at(address);
    out.direction = out.memory == HostMemory::none ? CopyDirection::none : CopyDirection::on_host;
  } else if (name.starts_with("cuStream") || name.starts_with("cuLaunchHostFunc")) {
    out.stream = number(static_cast<const cuStreamSynchronize_params*>(given)->hStream);  // the first of all of them
  } else if (name.starts_with("cuEvent")) {
    out.stream = number(static_cast<const cuEventSynchronize_params*>(given)->hEvent);
  } else if (name.starts_with("cuMemAlloc_v2") || name.starts_with("cuMemAllocHost_v2") || name.starts_with("cuMemHostAlloc") ||
             name.starts_with("cuMemHostRegister") || name.starts_with("cuMemAllocManaged") || name.starts_with("cuMemCreate")) {
    out.bytes = static_cast<const cuMemAlloc_v2_params*>(given)->bytesize;  // the second of all of them
  }
  return out;
}

}  // namespace tutti::tracing
