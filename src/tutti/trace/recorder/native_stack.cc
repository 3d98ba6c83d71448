#include "tutti/trace/recorder/native_stack.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstring>

#include "tutti/trace/recorder/python_stack.h"

namespace tutti::tracing {

namespace {

struct Walk {
  std::span<std::uintptr_t> out;
  const PythonStack* python;
  std::size_t count = 0;
  bool is_first = true;
};

_Unwind_Reason_Code take(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  const std::uintptr_t address = _Unwind_GetIP(context);
  if (walk.is_first) {
    walk.is_first = false;
    return _URC_NO_REASON;
  }
  if (address == 0 || walk.count == walk.out.size()) return _URC_END_OF_STACK;
  if (walk.python != nullptr && walk.python->is_in_interpreter(address)) return _URC_END_OF_STACK;
  walk.out[walk.count++] = address;
  return _URC_NO_REASON;
}

struct Search {
  std::uintptr_t inside;
  NativeModule found;
};

void take_build_id(const char* note, std::size_t bytes, NativeModule& out) {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    std::memcpy(&head, note, sizeof head);
    const auto rounded = [](std::size_t size) { return (size + 3) / 4 * 4; };
    const std::size_t whole = sizeof head + rounded(head.n_namesz) + rounded(head.n_descsz);
    if (whole > bytes) return;
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && head.n_descsz <= out.build_id.size()) {
      std::memcpy(out.build_id.data(), note + sizeof head + 4, head.n_descsz);
      out.build_id_bytes = head.n_descsz;
      return;
    }
    note += whole;
    bytes -= whole;
  }
}

int look_at(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const auto parts = std::span(info->dlpi_phdr, info->dlpi_phnum);
  const bool is_here = std::any_of(parts.begin(), parts.end(), [&](const ElfW(Phdr) & part) {
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    return part.p_type == PT_LOAD && search.inside >= begin && search.inside < begin + part.p_memsz;
  });
  if (!is_here) return 0;
  search.found.begin = info->dlpi_addr;
  search.found.path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  for (const ElfW(Phdr) & part : parts) {
    if (part.p_type == PT_NOTE)
      take_build_id(reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr), part.p_memsz, search.found);
  }
  return 1;
}

}  // namespace

std::size_t walk_native(std::span<std::uintptr_t> out, const PythonStack* python) noexcept {
  Walk walk{out, python};
  _Unwind_Backtrace(take, &walk);
  return walk.count;
}

NativeModule module_of(std::uintptr_t address) {
  Search search{address - 1, {}};
  if (::dl_iterate_phdr(look_at, &search) == 0) return {};
  if (search.found.path.empty()) {  // the program itself
    std::array<char, 4096> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
    if (length > 0) search.found.path.assign(path.data(), static_cast<std::size_t>(length));
  }
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(address - 1), &info) != 0 && info.dli_sname != nullptr)
    search.found.symbol = info.dli_sname;
  return search.found;
}

}  // namespace tutti::tracing
