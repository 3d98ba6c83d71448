// Tutti behind a C interface, so that a Python program can send another library's tensors through it by DLPack.
#include <cstdint>
#include <exception>
#include <string>

#include "tutti/tutti.h"

namespace {

thread_local std::string last_error;

template <class Compute>
DLManagedTensor* through(DLManagedTensor* in, void* producer, void* consumer, const Compute& compute) noexcept {
  try {
    return tutti::to_dlpack(compute(tutti::from_dlpack(in, producer)), consumer);
  } catch (const std::exception& error) {
    last_error = error.what();
    return nullptr;
  }
}

}  // namespace

extern "C" {

// Each takes the tensor over unless it returns null. The streams are the cudaStream_t that makes it and the one that uses the
// result; null for tensors in host memory, and for a GPU where the data is there and the host may sync.
__attribute__((visibility("default"))) DLManagedTensor* tutti_bridge_pass(DLManagedTensor* in, void* producer, void* consumer) {
  return through(in, producer, consumer, [](tutti::Tensor x) { return x; });
}

__attribute__((visibility("default"))) DLManagedTensor* tutti_bridge_affine(DLManagedTensor* in, void* producer, void* consumer) {
  return through(in, producer, consumer, [](const tutti::Tensor& x) {
    const tutti::DeviceScope on(x.device());
    return x * 2 + 1;
  });
}

// Why the last call of this thread returned null.
__attribute__((visibility("default"))) const char* tutti_bridge_error() { return last_error.c_str(); }

// How often the program made the host wait for a device so far.
__attribute__((visibility("default"))) std::uint64_t tutti_bridge_demand_syncs() { return tutti::sync_counts().demand; }

// The sum of floats at an address of GPU:0, wrapped in place; counts in `given_back` when tutti has let go of it.
__attribute__((visibility("default"))) double tutti_bridge_sum(void* floats, std::int64_t count, int* given_back) {
  try {
    const tutti::Tensor x =
        tutti::wrap_device_memory(floats, tutti::DType::f32, {count}, "GPU:0", [given_back] { ++*given_back; });
    return tutti::item<float>(tutti::sum(x));
  } catch (const std::exception& error) {
    last_error = error.what();
    return -1;
  }
}

// Does a copy to pinned memory end up there, and arrive unchanged on the GPU and back? `count` numbers are sent.
__attribute__((visibility("default"))) bool tutti_bridge_pins(std::int64_t count) {
  try {
    const tutti::Tensor x = tutti::copy_to(tutti::uniform({count}, {.key = 5}), "CPU:0");
    const tutti::Tensor pinned = tutti::pin(x);
    const tutti::Tensor there = tutti::copy_to(pinned, "GPU:0");
    return tutti::is_pinned(pinned) && !tutti::is_pinned(there) && tutti::read<float>(there) == tutti::read<float>(x) &&
           tutti::read<float>(tutti::pin(there, "GPU:0")) == tutti::read<float>(x);
  } catch (const std::exception& error) {
    last_error = error.what();
    return false;
  }
}

__attribute__((visibility("default"))) void tutti_bridge_sync_devices() { tutti::sync_devices(); }
}
