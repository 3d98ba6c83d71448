#include "tutti/diag/debug_info.h"

#ifdef TUTTI_HAS_LIBDW

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <type_traits>

namespace tutti::detail {

namespace {

struct Library {
  decltype(&dwfl_begin) begin = nullptr;
  decltype(&dwfl_end) end = nullptr;
  decltype(&dwfl_linux_proc_report) report = nullptr;
  decltype(&dwfl_report_end) report_end = nullptr;
  decltype(&dwfl_build_id_find_debuginfo) find_debuginfo = nullptr;
  decltype(&dwfl_addrmodule) module_of = nullptr;
  decltype(&dwfl_module_addrname) name_of = nullptr;
  decltype(&dwfl_module_getsrc) source_of = nullptr;
  decltype(&dwfl_lineinfo) line_of = nullptr;
  bool is_there = false;

  Library() {
    void* library = ::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto look_up = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    is_there = look_up(begin, "dwfl_begin") && look_up(end, "dwfl_end") && look_up(report, "dwfl_linux_proc_report") &&
               look_up(report_end, "dwfl_report_end") && look_up(find_debuginfo, "dwfl_build_id_find_debuginfo") &&
               look_up(module_of, "dwfl_addrmodule") && look_up(name_of, "dwfl_module_addrname") &&
               look_up(source_of, "dwfl_module_getsrc") && look_up(line_of, "dwfl_lineinfo");
  }
};

const Library& library() {
  static const Library& instance = *new Library;
  return instance;
}

// The file that is mapped, and nothing else: libdw's own search may ask servers on the network.
int open_module(Dwfl_Module*, void**, const char* name, Dwarf_Addr, char** file_name, Elf**) {
  const int file = ::open(name, O_RDONLY | O_CLOEXEC);
  if (file >= 0) *file_name = ::strdup(name);
  return file;
}

}  // namespace

struct DebugInfo::Session {
  Dwfl_Callbacks callbacks{};
  Dwfl* modules = nullptr;
};

DebugInfo::DebugInfo() {
  const Library& dw = library();
  if (!dw.is_there) return;
  session_ = std::make_unique<Session>();
  session_->callbacks.find_elf = open_module;
  session_->callbacks.find_debuginfo = dw.find_debuginfo;  // by build id, in the usual folders
  session_->modules = dw.begin(&session_->callbacks);
  if (session_->modules == nullptr) return;
  (void)dw.report(session_->modules, ::getpid());
  (void)dw.report_end(session_->modules, nullptr, nullptr);
}

DebugInfo::~DebugInfo() {
  if (session_ && session_->modules != nullptr) library().end(session_->modules);
}

DebugName DebugInfo::find(std::uintptr_t address) const {
  if (!session_ || session_->modules == nullptr) return {};
  const Library& dw = library();
  Dwfl_Module* module = dw.module_of(session_->modules, address);
  if (module == nullptr) return {};
  DebugName out;
  if (const char* name = dw.name_of(module, address)) out.function = name;
  if (Dwfl_Line* line = dw.source_of(module, address)) {
    int number = 0;
    if (const char* file = dw.line_of(line, nullptr, &number, nullptr, nullptr, nullptr)) {
      out.file = file;
      out.line = static_cast<std::uint32_t>(number);
    }
  }
  return out;
}

std::string DebugInfo::missing() {
  return library().is_there ? ""
                            : "functions inside programs and lines of code are not named: libdw.so.1 of elfutils is not there";
}

}  // namespace tutti::detail

#else

namespace tutti::detail {

struct DebugInfo::Session {};
DebugInfo::DebugInfo() = default;
DebugInfo::~DebugInfo() = default;
DebugName DebugInfo::find(std::uintptr_t) const { return {}; }
std::string DebugInfo::missing() {
  return "functions inside programs and lines of code are not named: tutti was built without elfutils' libdw";
}

}  // namespace tutti::detail

#endif
