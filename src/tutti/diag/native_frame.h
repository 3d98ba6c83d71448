// Return addresses as people read them: function and line where the machine knows them, else the module and an offset.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tutti {

struct NativeFrame {
  const void* address = nullptr;
  std::string function;      // demangled; empty: not known
  std::string file;          // empty: not known
  std::uint32_t line = 0;    // of the call
  std::string module;        // the program's or library's file, without its folder; empty: not known
  std::uint64_t offset = 0;  // from where the module begins
  bool is_tuttis = false;    // inside this library

  // "train(int)", or "program+0x1234" where the name is not known
  [[nodiscard]] std::string name() const;
};

// Innermost first, as the addresses are. Reads the symbols and the debug information of the modules they lie in: milliseconds.
std::vector<NativeFrame> name_frames(std::span<const void* const> addresses);

// Why names and lines may be missing where a module has them; empty: nothing is in the way.
std::string missing_for_names();

}  // namespace tutti
