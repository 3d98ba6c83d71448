// Return addresses of the calling thread, and the modules they lie in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tutti::tracing {

class PythonStack;

// Innermost first, this function's caller at the top. Where `python` is given, up to its interpreter.
std::size_t walk_native(std::span<std::uintptr_t> out, const PythonStack* python) noexcept;

struct NativeModule {
  std::string path;
  std::uintptr_t begin = 0;  // what is added to the addresses of its file
  std::array<std::uint8_t, 20> build_id{};
  std::uint32_t build_id_bytes = 0;
  std::string symbol;  // the exported function around the address; empty: none
};

// The call before the return address `address`.
NativeModule module_of(std::uintptr_t address);

}  // namespace tutti::tracing
