#include "tutti/backends/cuda/driver.h"

#include <dlfcn.h>

#include "tutti/base/text.h"

namespace tutti::cuda {

namespace {

struct Found {
  Driver functions;
  bool is_there = false;
  std::string why_absent;

  Found() {
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      why_absent = "there is no NVIDIA driver (libcuda.so.1)";
      return;
    }
#define TUTTI_SYMBOL_TEXT(symbol) #symbol
#define TUTTI_SYMBOL(name) TUTTI_SYMBOL_TEXT(name)
#define TUTTI_FIND(name)                                                                             \
  functions.name = reinterpret_cast<decltype(functions.name)>(::dlsym(library, TUTTI_SYMBOL(name))); \
  if (functions.name == nullptr && why_absent.empty())                                               \
    why_absent = "the NVIDIA driver is too old: it has no " TUTTI_SYMBOL(name) "; CUDA 13 needs driver 580 or later";
    TUTTI_DRIVER_FUNCTIONS(TUTTI_FIND)
#undef TUTTI_FIND
#undef TUTTI_SYMBOL
#undef TUTTI_SYMBOL_TEXT
    if (!why_absent.empty()) return;
    if (const CUresult result = functions.cuInit(0); result != CUDA_SUCCESS) {
      why_absent = text("the NVIDIA driver finds no GPU it can use (", functions.describe(result), ")");
      return;
    }
    int version = 0;
    functions.cuDriverGetVersion(&version);
    if (version < 13000) {
      why_absent = text("the NVIDIA driver is for CUDA ", version / 1000, ".", version % 1000 / 10,
                        "; this build needs one for CUDA 13 (580 or later)");
      return;
    }
    is_there = true;
  }
};

const Found& found() {
  static const Found& instance = *new Found;
  return instance;
}

}  // namespace

std::string Driver::describe(CUresult result) const {
  const char* name = nullptr;
  const char* words = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS) name = nullptr;
  if (cuGetErrorString(result, &words) != CUDA_SUCCESS) words = nullptr;
  if (name == nullptr || words == nullptr) return text("CUDA error ", static_cast<int>(result));
  return text(name, ": ", words);
}

const Driver* find_driver() { return found().is_there ? &found().functions : nullptr; }
const std::string& why_absent() { return found().why_absent; }
const Driver& driver() noexcept {
  static const Driver& functions = found().functions;
  return functions;
}

}  // namespace tutti::cuda
