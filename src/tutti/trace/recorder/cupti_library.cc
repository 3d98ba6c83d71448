#include "tutti/trace/recorder/cupti_library.h"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tutti::tracing {

namespace {

struct Mapped {
  std::string cupti;
  std::vector<std::string> folders;  // of libraries of CUDA's
};

int note_module(dl_phdr_info* info, std::size_t, void* data) {
  auto& found = *static_cast<Mapped*>(data);
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return 0;
  const std::string_view name = path.substr(slash + 1);
  if (name.starts_with("libcupti.so")) found.cupti = path;
  if (name.starts_with("libcudart") || name.starts_with("libcublas")) found.folders.emplace_back(path.substr(0, slash));
  return 0;
}

void* open_first(std::string& path) {
  Mapped mapped;
  ::dl_iterate_phdr(note_module, &mapped);
  std::vector<std::string> places;
  if (!mapped.cupti.empty()) places.push_back(mapped.cupti);
  constexpr std::array names{"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
  const auto add_folder = [&](const std::string& folder) {
    for (const char* name : names) places.push_back(folder + "/" + name);
  };
  for (const std::string& folder : mapped.folders) {  // one folder for all, or one each, as in Python's packages
    add_folder(folder);
    add_folder(folder + "/../../cuda_cupti/lib");
    add_folder(folder + "/../extras/CUPTI/lib64");
  }
  for (const char* name : names) places.emplace_back(name);
  for (const char* folder : {"/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/usr/local/cuda/extras/CUPTI/lib64"})
    add_folder(folder);
  for (const std::string& place : places) {
    if (void* library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      path = place;
      return library;
    }
  }
  return nullptr;
}

}  // namespace

std::string CuptiLibrary::open() {
  void* library = open_first(path);
  if (library == nullptr)
    return "CUPTI (libcupti.so.13 or .12) was not found; it comes with the CUDA toolkit and with PyTorch: put its folder into "
           "LD_LIBRARY_PATH";
  const auto look_up = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    return function != nullptr;
  };
  look_up(subscribe_by_name, "cuptiSubscribe_v2");
  look_up(register_timestamp, "cuptiActivityRegisterTimestampCallback");
  look_up(enable_driver_call, "cuptiActivityEnableDriverApi");
  const bool is_whole = look_up(get_version, "cuptiGetVersion") && look_up(get_result_string, "cuptiGetResultString") &&
                        look_up(subscribe, "cuptiSubscribe") && look_up(enable_callback, "cuptiEnableCallback") &&
                        look_up(get_callback_name, "cuptiGetCallbackName") &&
                        look_up(register_buffers, "cuptiActivityRegisterCallbacks") &&
                        look_up(enable_activity, "cuptiActivityEnable") && look_up(next_record, "cuptiActivityGetNextRecord") &&
                        look_up(flush_all, "cuptiActivityFlushAll");
  return is_whole ? "" : path + " is too old: CUPTI of CUDA 12 or 13 is needed";
}

std::string CuptiLibrary::describe(CUptiResult result) const {
  const char* words = nullptr;
  if (get_result_string(result, &words) != CUPTI_SUCCESS || words == nullptr) return "CUPTI error " + std::to_string(result);
  return words;
}

}  // namespace tutti::tracing
