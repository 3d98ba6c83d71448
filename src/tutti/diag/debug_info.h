// What elfutils' libdw tells of an address, in this process or in one that has ended. It is loaded when the first address is to
// be named: a program that asks for no stack does without it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tutti::detail {

struct DebugName {
  std::string function;  // as the linker knows it; empty: not known
  std::string file;
  std::uint32_t line = 0;
};

// A program or library as it was mapped.
struct MappedFile {
  std::string path;
  std::uint64_t begin = 0;  // what is added to the addresses of the file
  std::string build_id;     // its bytes; another file at the same path is not looked at. Empty: not known
};

class DebugInfo {
 public:
  DebugInfo();  // the modules that are loaded now
  explicit DebugInfo(std::span<const MappedFile> files);
  ~DebugInfo();
  DebugInfo(const DebugInfo&) = delete;
  DebugInfo& operator=(const DebugInfo&) = delete;

  [[nodiscard]] DebugName find(std::uintptr_t address) const;
  // Empty: the library is there.
  static std::string missing();

 private:
  struct Session;
  static std::unique_ptr<Session> begin();
  std::unique_ptr<Session> session_;
};

}  // namespace tutti::detail
