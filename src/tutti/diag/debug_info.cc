#include "tutti/diag/debug_info.h"

#ifdef TUTTI_HAS_LIBDW

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <type_traits>
#include <utility>

namespace tutti::detail {

namespace {

struct Library {
  decltype(&dwfl_begin) begin = nullptr;
  decltype(&dwfl_end) end = nullptr;
  decltype(&dwfl_linux_proc_report) report = nullptr;
  decltype(&dwfl_report_elf) report_file = nullptr;
  decltype(&dwfl_report_end) report_end = nullptr;
  decltype(&dwfl_module_build_id) build_id_of = nullptr;
  decltype(&dwfl_build_id_find_debuginfo) find_debuginfo = nullptr;
  decltype(&dwfl_addrmodule) module_of = nullptr;
  decltype(&dwfl_module_addrname) name_of = nullptr;
  decltype(&dwfl_module_getsrc) source_of = nullptr;
  decltype(&dwfl_lineinfo) line_of = nullptr;
  decltype(&dwfl_module_addrdie) unit_of = nullptr;
  decltype(&dwarf_getscopes) scopes_at = nullptr;
  decltype(&dwarf_getscopes_die) scopes_around = nullptr;
  decltype(&dwarf_tag) tag_of = nullptr;
  decltype(&dwarf_attr) attribute = nullptr;
  decltype(&dwarf_formudata) number_in = nullptr;
  decltype(&dwarf_getsrcfiles) files_of = nullptr;
  decltype(&dwarf_filesrc) file_name = nullptr;
  bool is_there = false;

  Library() {
    void* library = ::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto look_up = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    is_there = look_up(begin, "dwfl_begin") && look_up(end, "dwfl_end") && look_up(report, "dwfl_linux_proc_report") &&
               look_up(report_file, "dwfl_report_elf") && look_up(build_id_of, "dwfl_module_build_id") &&
               look_up(report_end, "dwfl_report_end") && look_up(find_debuginfo, "dwfl_build_id_find_debuginfo") &&
               look_up(module_of, "dwfl_addrmodule") && look_up(name_of, "dwfl_module_addrname") &&
               look_up(source_of, "dwfl_module_getsrc") && look_up(line_of, "dwfl_lineinfo") &&
               look_up(unit_of, "dwfl_module_addrdie") && look_up(scopes_at, "dwarf_getscopes") &&
               look_up(scopes_around, "dwarf_getscopes_die") && look_up(tag_of, "dwarf_tag") &&
               look_up(attribute, "dwarf_attr") && look_up(number_in, "dwarf_formudata") &&
               look_up(files_of, "dwarf_getsrcfiles") && look_up(file_name, "dwarf_filesrc");
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

using Scopes = std::unique_ptr<Dwarf_Die, decltype(&std::free)>;

Dwarf_Word number(Dwarf_Die& entry, unsigned name) {
  Dwarf_Attribute attribute{};
  Dwarf_Word out = 0;
  if (library().attribute(&entry, name, &attribute) == nullptr || library().number_in(&attribute, &out) != 0) return 0;
  return out;
}

// The line table tells the line of an inlined function; what a reader looks for is the line of the function whose frame it is.
void leave_inlined(Dwfl_Module* module, Dwarf_Addr address, DebugName& out) {
  const Library& dw = library();
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = dw.unit_of(module, address, &bias);
  if (unit == nullptr) return;
  Dwarf_Die* found = nullptr;
  const int inside = dw.scopes_at(unit, address - bias, &found);
  const Scopes innermost(found, &std::free);
  if (inside <= 0) return;
  found = nullptr;
  const int count = dw.scopes_around(innermost.get(), &found);
  const Scopes around(found, &std::free);
  Dwarf_Files* files = nullptr;
  if (count <= 0 || dw.files_of(unit, &files, nullptr) != 0) return;
  for (int i = 0; i < count && dw.tag_of(found + i) != DW_TAG_subprogram; ++i) {
    if (dw.tag_of(found + i) != DW_TAG_inlined_subroutine) continue;
    const char* file = dw.file_name(files, number(found[i], DW_AT_call_file), nullptr, nullptr);
    const Dwarf_Word line = number(found[i], DW_AT_call_line);
    if (file == nullptr || line == 0) return;
    out.file = file;
    out.line = static_cast<std::uint32_t>(line);
  }
}

}  // namespace

struct DebugInfo::Session {
  Dwfl_Callbacks callbacks{};
  Dwfl* modules = nullptr;
  std::set<const Dwfl_Module*> changed;  // files that are not what was mapped
};

std::unique_ptr<DebugInfo::Session> DebugInfo::begin() {
  const Library& dw = library();
  if (!dw.is_there) return nullptr;
  auto out = std::make_unique<Session>();
  out->callbacks.find_elf = open_module;
  out->callbacks.find_debuginfo = dw.find_debuginfo;  // by build id, in the usual folders
  out->modules = dw.begin(&out->callbacks);
  return out->modules == nullptr ? nullptr : std::move(out);
}

DebugInfo::DebugInfo(std::span<const MappedFile> files) : session_(begin()) {
  if (!session_) return;
  const Library& dw = library();
  for (const MappedFile& file : files) {
    Dwfl_Module* module = dw.report_file(session_->modules, file.path.c_str(), file.path.c_str(), -1, file.begin, true);
    const unsigned char* id = nullptr;
    GElf_Addr address = 0;
    const int bytes = module == nullptr || file.build_id.empty() ? 0 : dw.build_id_of(module, &id, &address);
    if (bytes > 0 && file.build_id != std::string(reinterpret_cast<const char*>(id), static_cast<std::size_t>(bytes)))
      session_->changed.insert(module);
  }
  (void)dw.report_end(session_->modules, nullptr, nullptr);
}

DebugInfo::DebugInfo() : session_(begin()) {
  if (!session_) return;
  const Library& dw = library();
  (void)dw.report(session_->modules, ::getpid());
  (void)dw.report_end(session_->modules, nullptr, nullptr);
}

DebugInfo::~DebugInfo() {
  if (session_) library().end(session_->modules);
}

DebugName DebugInfo::find(std::uintptr_t address) const {
  if (!session_) return {};
  const Library& dw = library();
  Dwfl_Module* module = dw.module_of(session_->modules, address);
  if (module == nullptr || session_->changed.contains(module)) return {};
  DebugName out;
  if (const char* name = dw.name_of(module, address)) out.function = name;
  if (Dwfl_Line* line = dw.source_of(module, address)) {
    int row = 0;
    if (const char* file = dw.line_of(line, nullptr, &row, nullptr, nullptr, nullptr)) {
      out.file = file;
      out.line = static_cast<std::uint32_t>(row);
    }
    leave_inlined(module, address, out);
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
DebugInfo::DebugInfo(std::span<const MappedFile>) {}
DebugInfo::~DebugInfo() = default;
DebugName DebugInfo::find(std::uintptr_t) const { return {}; }
std::string DebugInfo::missing() {
  return "functions inside programs and lines of code are not named: tutti was built without elfutils' libdw";
}

}  // namespace tutti::detail

#endif
