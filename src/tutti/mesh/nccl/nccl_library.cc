#include "tutti/mesh/nccl/nccl_library.h"

#include <dlfcn.h>

#include "tutti/base/text.h"

namespace tutti::nccl {

namespace {

constexpr const char* name = "libnccl.so.2";
constexpr int least_version = NCCL_VERSION(2, 18, 1);  // the first whose non-blocking communicators have all that is used here

std::string version_text(int version) { return text(version / 10'000, ".", version / 100 % 100, ".", version % 100); }

struct Found {
  Library functions;
  bool is_there = false;
  std::string why_absent;

  Found() {
    const std::string in_toolkit = text("/usr/local/cuda/lib64/", name);
    void* opened = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) opened = ::dlopen(in_toolkit.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
      why_absent = text("GPUs of several processes exchange tensors through NCCL, and neither ", name, " nor ", in_toolkit,
                        " can be opened: install NCCL 2 for CUDA 13 (Debian: libnccl2), or put the library's folder in "
                        "LD_LIBRARY_PATH");
      return;
    }
#define TUTTI_FIND(function)                                                                       \
  functions.function = reinterpret_cast<decltype(functions.function)>(::dlsym(opened, #function)); \
  if (functions.function == nullptr && why_absent.empty())                                         \
    why_absent = text("the ", name, " found is too old: it has no " #function "; 2.18 or later is needed");
    TUTTI_NCCL_FUNCTIONS(TUTTI_FIND)
#undef TUTTI_FIND
    if (!why_absent.empty()) return;
    int version = 0;
    if (functions.ncclGetVersion(&version) != ncclSuccess || version < least_version) {
      why_absent = text("the ", name, " found is NCCL ", version_text(version), "; 2.18.1 or later is needed");
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

const Library* find_library() { return found().is_there ? &found().functions : nullptr; }
const std::string& why_absent() { return found().why_absent; }
const Library& library() noexcept {
  static const Library& functions = found().functions;
  return functions;
}

}  // namespace tutti::nccl
