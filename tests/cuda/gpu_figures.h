// What the management library (NVML) says about the GPU, asked without the runtime's help.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <optional>

namespace tutti::testing_cuda {

// Bytes in use on the machine's one GPU, by every process. Nothing where there is no NVML or several GPUs, of which it would not
// be known which is meant.
inline std::optional<std::int64_t> used_gpu_bytes() {
  struct Memory {
    unsigned long long total, free, used;
  };
  static void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library == nullptr) return std::nullopt;
  static const bool is_ready = [] {
    const auto initialise = reinterpret_cast<int (*)()>(::dlsym(library, "nvmlInit_v2"));
    return initialise != nullptr && initialise() == 0;
  }();
  const auto count_gpus = reinterpret_cast<int (*)(unsigned*)>(::dlsym(library, "nvmlDeviceGetCount_v2"));
  const auto find = reinterpret_cast<int (*)(unsigned, void**)>(::dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
  const auto ask = reinterpret_cast<int (*)(void*, Memory*)>(::dlsym(library, "nvmlDeviceGetMemoryInfo"));
  unsigned count = 0;
  void* gpu = nullptr;
  Memory memory{};
  if (!is_ready || count_gpus == nullptr || find == nullptr || ask == nullptr || count_gpus(&count) != 0 || count != 1 ||
      find(0, &gpu) != 0 || ask(gpu, &memory) != 0)
    return std::nullopt;
  return static_cast<std::int64_t>(memory.used);
}

}  // namespace tutti::testing_cuda
