// A file that is there as a whole or not at all.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace tutti {

// Written under another name in the same folder; finish() gives it its own, in the place of what was there. What is no regular
// file (a device, a pipe, /dev/stderr) is written to as it is. Throws std::system_error.
class WholeFile {
 public:
  explicit WholeFile(const std::string& path);
  ~WholeFile();  // removes what was not finished
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  void write(std::string_view piece);
  void finish();
  // The same, and it is on the disk under its name when this returns: a machine that stops afterwards has it.
  void finish_on_disk();

 private:
  void take_name();

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty: written in place
  std::FILE* file_ = nullptr;
};

}  // namespace tutti
