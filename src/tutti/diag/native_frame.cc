#include "tutti/diag/native_frame.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "tutti/diag/debug_info.h"

namespace tutti {

namespace {

struct Module {
  std::string name;
  const void* begin = nullptr;
  std::string symbol;  // the exported function around the address
};

Module module_of(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string_view path = info.dli_fname;
  return {std::string(path.substr(path.rfind('/') + 1)), info.dli_fbase, info.dli_sname == nullptr ? "" : info.dli_sname};
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && name ? std::string(name.get()) : symbol;
}

const void* begin_of_this_library() {
  static const char here = 0;
  static const void* const begin = module_of(&here).begin;
  return begin;
}

NativeFrame name_frame(const void* address, const detail::DebugInfo& debug) {
  NativeFrame out;
  out.address = address;
  // A return address is the instruction after the call, which may belong to the next line or even the next function.
  const void* const call = static_cast<const char*>(address) - 1;
  const Module module = module_of(call);
  const auto place = reinterpret_cast<std::uintptr_t>(call);
  if (module.begin != nullptr) {
    out.module = module.name;
    out.offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(module.begin);
    out.is_tuttis = module.begin == begin_of_this_library();
  } else {
    out.offset = reinterpret_cast<std::uintptr_t>(address);
  }
  detail::DebugName known = debug.find(place);
  const std::string& symbol = known.function.empty() ? module.symbol : known.function;
  if (!symbol.empty()) out.function = demangled(symbol);
  out.file = std::move(known.file);
  out.line = known.line;
  return out;
}

}  // namespace

std::string NativeFrame::name() const {
  if (!function.empty()) return function;
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), offset, 16).ptr;
  return module + (module.empty() ? "0x" : "+0x") + std::string(digits.data(), end);
}

std::vector<NativeFrame> name_frames(std::span<const void* const> addresses) {
  std::vector<NativeFrame> out;
  if (addresses.empty()) return out;
  const detail::DebugInfo debug;
  out.reserve(addresses.size());
  for (const void* address : addresses) out.push_back(name_frame(address, debug));
  return out;
}

std::string missing_for_names() { return detail::DebugInfo::missing(); }

}  // namespace tutti
