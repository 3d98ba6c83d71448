// A CUDA runtime without a GPU: it tells the CUPTI of a test of the driver's calls that the real one would make. Built as
// libcudart.so.13.
#include <dlfcn.h>

#include <array>
#include <cstdint>

namespace {

int call_driver(const char* name, const void* first, int result = 0) {
  using FakeCall = void (*)(const char*, const void*, std::uint64_t, int);
  const std::array<const void*, 3> arguments{first};
  reinterpret_cast<FakeCall>(::dlsym(RTLD_DEFAULT, "fake_call"))(name, arguments.data(), 0, result);
  return result;
}

}  // namespace

extern "C" {

int cudaStreamSynchronize(void* stream) { return call_driver("cuStreamSynchronize", stream); }
int cudaDeviceSynchronize() { return call_driver("cuCtxSynchronize_v2", nullptr); }
int cudaEventSynchronize(void*) { return 0; }  // as if a tracer had missed it
int cudaStreamQuery(void* left) { return call_driver("cuStreamQuery", left, --*static_cast<int*>(left) > 0 ? 600 : 0); }
int cudaMalloc(void**, std::size_t) { return call_driver("cuMemAlloc_v2", nullptr); }
int cudaFree(void* memory) { return memory == nullptr ? 0 : call_driver("cuMemFree_v2", memory); }
int cudaMemcpyAsync(void*, const void*, std::size_t, int, void*) { return 0; }
int cudaPointerGetAttributes(void* attributes, const void* pointer) {
  *static_cast<int*>(attributes) = reinterpret_cast<std::uintptr_t>(pointer) <= 4096 ? 2 : 0;  // of the device, pageable
  return 0;
}
}
