#include "tutti/backends/cuda/nvml.h"

#include <dlfcn.h>

#include <array>

namespace tutti::cuda {

namespace {

// The few parts of NVML's interface used here, as its documentation gives them; its header is not part of every toolkit.
using Handle = void*;
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct Library {
  int (*initialise)() = nullptr;
  int (*find)(const char*, Handle*) = nullptr;
  int (*memory)(Handle, Memory*) = nullptr;
  int (*version)(char*, unsigned) = nullptr;
  bool is_there = false;

  Library() {
    void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr) return;
    const auto look_up = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    is_there = look_up(initialise, "nvmlInit_v2") && look_up(find, "nvmlDeviceGetHandleByPciBusId_v2") &&
               look_up(memory, "nvmlDeviceGetMemoryInfo") && look_up(version, "nvmlSystemGetDriverVersion") && initialise() == 0;
  }
};

const Library& library() {
  static const Library& instance = *new Library;
  return instance;
}

}  // namespace

std::optional<std::uint64_t> used_bytes(const char* pci_bus_id) noexcept {
  Handle gpu = nullptr;
  Memory memory{};
  if (!library().is_there || library().find(pci_bus_id, &gpu) != 0 || library().memory(gpu, &memory) != 0) return std::nullopt;
  return memory.used;
}

std::string driver_version() {
  std::array<char, 96> text{};
  if (!library().is_there || library().version(text.data(), text.size()) != 0) return {};
  return text.data();
}

}  // namespace tutti::cuda
