#include "tutti/kernels/cuda/cublas_lt.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/hal/door.h"

namespace tutti::kernels::cuda {

namespace {

constexpr std::size_t most_devices = 64;

#define TUTTI_TEXT_OF(x) #x
#define TUTTI_TEXT(x) TUTTI_TEXT_OF(x)
constexpr const char* versioned_name = "libcublasLt.so." TUTTI_TEXT(CUBLAS_VER_MAJOR);
#undef TUTTI_TEXT
#undef TUTTI_TEXT_OF

template <class Function>
void find(void* library, const char* name, Function& function, Site site) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw KernelFailed(text("products of matrices need cuBLASLt ", CUBLAS_VER_MAJOR, "; the one found has no ", name,
                            ". Install the CUDA toolkit ", CUBLAS_VER_MAJOR, " or its cuBLAS package"),
                       site);
  }
}

CublasLt open(Site site) {
  const BlockingRegion loading(SyncReason::module_load, site);
  void* library = nullptr;
  for (const std::string& name :
       {std::string(versioned_name), std::string("libcublasLt.so"), text("/usr/local/cuda/lib64/", versioned_name),
        std::string("/usr/local/cuda/lib64/libcublasLt.so")}) {
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    throw KernelFailed(text("products of matrices need cuBLASLt and ", versioned_name,
                            " cannot be opened. Install the CUDA toolkit or its cuBLAS package, or put the library's folder in "
                            "LD_LIBRARY_PATH"),
                       site);
  }
  CublasLt lt{};
  find(library, "cublasLtCreate", lt.create, site);
  find(library, "cublasLtGetVersion", lt.version, site);
  find(library, "cublasLtGetStatusString", lt.status_string, site);
  find(library, "cublasLtMatmul", lt.matmul, site);
  find(library, "cublasLtMatmulAlgoGetHeuristic", lt.heuristic, site);
  find(library, "cublasLtMatmulAlgoConfigGetAttribute", lt.get_config, site);
  find(library, "cublasLtMatmulDescInit_internal", lt.init_desc, site);
  find(library, "cublasLtMatmulDescSetAttribute", lt.set_desc, site);
  find(library, "cublasLtMatrixLayoutInit_internal", lt.init_layout, site);
  find(library, "cublasLtMatrixLayoutSetAttribute", lt.set_layout, site);
  find(library, "cublasLtMatmulPreferenceInit_internal", lt.init_preference, site);
  find(library, "cublasLtMatmulPreferenceSetAttribute", lt.set_preference, site);
  return lt;
}

}  // namespace

void CublasLt::check(cublasStatus_t status, const char* what, const KernelCall& call) const {
  if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
    return;
  throw KernelFailed(text(what, ": ", status_string(status)), call.site);
}

const CublasLt& cublas_lt(const KernelCall& call) {
  static const CublasLt lt = open(call.site);  // tried again if it throws
  return lt;
}

cublasLtHandle_t cublas_lt_handle(int ordinal, const KernelCall& call) {
  static std::array<std::atomic<cublasLtHandle_t>, most_devices> handles{};
  static std::mutex mutex;
  const auto at = static_cast<std::size_t>(ordinal);
  if (at >= most_devices) throw KernelFailed(text("products of matrices work on the first ", most_devices, " GPUs"), call.site);
  if (cublasLtHandle_t made = handles[at].load(std::memory_order_acquire)) return made;
  const CublasLt& lt = cublas_lt(call);
  const BlockingRegion loading(SyncReason::module_load, call.site);  // also of a thread that waits for another that makes it
  const std::lock_guard lock(mutex);
  cublasLtHandle_t handle = handles[at].load(std::memory_order_relaxed);
  if (handle != nullptr) return handle;
  lt.check(lt.create(&handle), "cublasLtCreate", call);
  handles[at].store(handle, std::memory_order_release);
  return handle;
}

}  // namespace tutti::kernels::cuda
