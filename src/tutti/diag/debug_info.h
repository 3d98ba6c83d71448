// What elfutils' libdw tells of an address in this process. It is loaded when the first address is to be named: a program that
// asks for no stack does without it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace tutti::detail {

struct DebugName {
  std::string function;  // as the linker knows it; empty: not known
  std::string file;
  std::uint32_t line = 0;
};

// The modules that are loaded now.
class DebugInfo {
 public:
  DebugInfo();
  ~DebugInfo();
  DebugInfo(const DebugInfo&) = delete;
  DebugInfo& operator=(const DebugInfo&) = delete;

  [[nodiscard]] DebugName find(std::uintptr_t address) const;
  // Empty: the library is there.
  static std::string missing();

 private:
  struct Session;
  std::unique_ptr<Session> session_;
};

}  // namespace tutti::detail
