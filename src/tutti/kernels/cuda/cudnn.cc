#include "tutti/kernels/cuda/cudnn.h"

#include <dlfcn.h>

#include <array>
#include <string>

#include "tutti/base/environment.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/hal/door.h"

namespace tutti::kernels::cuda {

namespace {

constexpr std::size_t most_cudnn_devices = 64;

struct Opened {
  Cudnn functions{};
  bool is_there = false;

  explicit Opened(Site site) {
    if (!environment_bool("TUTTI_CUDNN").value_or(true)) return;
    const BlockingRegion loading(SyncReason::module_load, site);
    const std::string name = text("libcudnn.so.", CUDNN_MAJOR);
    void* library = nullptr;
    for (const std::string& path : {name, text("/usr/local/cuda/lib64/", name)}) {
      library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr) break;
    }
    if (library == nullptr) {
      log(LogLevel::info, text(name, " cannot be opened: convolutions and attention use kernels of our own, which are slower"));
      return;
    }
    is_there = true;
    find(library, "cudnnGetVersion", functions.version);
    find(library, "cudnnGetErrorString", functions.error_string);
    find(library, "cudnnGetLastErrorString", functions.last_error);
    find(library, "cudnnCreate", functions.create);
    find(library, "cudnnSetStream", functions.set_stream);
    find(library, "cudnnBackendCreateDescriptor", functions.create_descriptor);
    find(library, "cudnnBackendDestroyDescriptor", functions.destroy_descriptor);
    find(library, "cudnnBackendFinalize", functions.finalize);
    find(library, "cudnnBackendSetAttribute", functions.set_attribute);
    find(library, "cudnnBackendGetAttribute", functions.get_attribute);
    find(library, "cudnnBackendExecute", functions.execute);
  }

 private:
  template <class Function>
  void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function != nullptr) return;
    is_there = false;
    log(LogLevel::warning, text("the cuDNN found has no ", name, " and is not used"));
  }
};

}  // namespace

const Cudnn* find_cudnn(Site site) {
  static const Opened opened(site);
  return opened.is_there ? &opened.functions : nullptr;
}

CudnnHandle* cudnn_handle(int ordinal, Site site) {
  struct Made {
    std::once_flag once;
    CudnnHandle handle;
  };
  static auto* const all = new std::array<Made, most_cudnn_devices>;  // outlive every thread
  if (static_cast<std::size_t>(ordinal) >= most_cudnn_devices) return nullptr;
  Made& made = (*all)[static_cast<std::size_t>(ordinal)];
  std::call_once(made.once, [&] {
    const BlockingRegion loading(SyncReason::module_load, site);
    const Cudnn& cudnn = *find_cudnn(site);
    const cudnnStatus_t status = cudnn.create(&made.handle.handle);
    if (status == CUDNN_STATUS_SUCCESS) return;
    made.handle.handle = nullptr;
    log(LogLevel::warning, text("cuDNN ", cudnn.version(), " is not used: cudnnCreate: ", cudnn.error_string(status)));
  });
  return made.handle.handle != nullptr ? &made.handle : nullptr;
}

}  // namespace tutti::kernels::cuda
