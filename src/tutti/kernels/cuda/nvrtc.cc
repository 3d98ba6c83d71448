#include "tutti/kernels/cuda/nvrtc.h"

#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include <array>
#include <vector>

#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/hal/door.h"
#include "tutti/kernels/cuda/device_texts.h"

namespace tutti::kernels::cuda {

namespace {

struct Nvrtc {
  decltype(&nvrtcVersion) version = nullptr;
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetCUBINSize) code_size = nullptr;
  decltype(&nvrtcGetCUBIN) code = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  std::string number;  // empty: it is not there

  explicit Nvrtc(Site site) {
    const BlockingRegion loading(SyncReason::module_load, site);
    const std::string name = text("libnvrtc.so.", CUDA_VERSION / 1000);
    void* library = nullptr;
    for (const std::string& path : {name, text("/usr/local/cuda/lib64/", name)}) {
      library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr) break;
    }
    if (library == nullptr) {
      tutti::log(LogLevel::info, text(name, " cannot be opened: element-wise kernels of graphs are not fused"));
      return;
    }
    const auto find = [&](const char* function, auto& to) {
      to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(dlsym(library, function));
      return to != nullptr;
    };
    int major = 0;
    int minor = 0;
    if (find("nvrtcVersion", version) && find("nvrtcCreateProgram", create) && find("nvrtcDestroyProgram", destroy) &&
        find("nvrtcCompileProgram", compile) && find("nvrtcGetCUBINSize", code_size) && find("nvrtcGetCUBIN", code) &&
        find("nvrtcGetProgramLogSize", log_size) && find("nvrtcGetProgramLog", this->log) &&
        version(&major, &minor) == NVRTC_SUCCESS)
      number = text(major, ".", minor);
  }
};

const Nvrtc& nvrtc(Site site) {
  static const Nvrtc opened(site);
  return opened;
}

}  // namespace

std::uint64_t hash_of_texts() noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const DeviceText& each : device_texts()) {
    for (const char* at = each.text; *at != '\0'; ++at) hash = (hash ^ static_cast<unsigned char>(*at)) * 0x100000001b3U;
  }
  return hash;
}

const std::string& nvrtc_version(Site site) { return nvrtc(site).number; }

std::optional<std::string> compile(const std::string& source, int architecture, std::string& log, Site site) {
  const Nvrtc& api = nvrtc(site);
  if (api.number.empty()) return std::nullopt;
  const BlockingRegion compiling(SyncReason::module_load, site);
  std::vector<const char*> texts;
  std::vector<const char*> names;
  for (const DeviceText& each : device_texts()) {
    texts.push_back(each.text);
    names.push_back(each.name);
  }
  struct Program {
    const Nvrtc& api;
    nvrtcProgram handle = nullptr;
    ~Program() {
      if (handle != nullptr) api.destroy(&handle);
    }
  } program{api};
  if (api.create(&program.handle, source.c_str(), "fused.cu", static_cast<int>(texts.size()), texts.data(), names.data()) !=
      NVRTC_SUCCESS)
    return std::nullopt;
  const std::string target = text("--gpu-architecture=sm_", architecture);
  const std::array<const char*, 3> options{target.c_str(), "--std=c++20", "--device-as-default-execution-space"};
  const nvrtcResult result = api.compile(program.handle, static_cast<int>(options.size()), options.data());
  if (std::size_t size = 0; api.log_size(program.handle, &size) == NVRTC_SUCCESS && size > 1) {
    log.resize(size);
    if (api.log(program.handle, log.data()) != NVRTC_SUCCESS) log.clear();
  }
  std::size_t size = 0;
  if (result != NVRTC_SUCCESS || api.code_size(program.handle, &size) != NVRTC_SUCCESS || size == 0) return std::nullopt;
  std::string code(size, '\0');
  if (api.code(program.handle, code.data()) != NVRTC_SUCCESS) return std::nullopt;
  return code;
}

}  // namespace tutti::kernels::cuda
