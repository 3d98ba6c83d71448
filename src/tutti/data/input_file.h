// A regular file that is read at given places, with errors that say which byte.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/base/site.h"

namespace tutti {

// "weights.safetensors, byte 12: ..." as a FileError.
[[noreturn]] void refuse_file(const std::string& path, std::uint64_t byte, std::string_view why, Site site);
// A name that anybody may have written, for messages.
std::string in_quotes(std::string_view name);

class InputFile {
 public:
  InputFile(const std::string& path, Site site);

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  // Refuses the file where so much is not there.
  void read(std::uint64_t at, void* to, std::size_t bytes);
  [[nodiscard]] std::string text_at(std::uint64_t at, std::size_t bytes);
  // The file must end where these end.
  [[nodiscard]] std::vector<std::byte> rest(std::uint64_t at, std::uint64_t bytes);
  [[noreturn]] void refuse(std::uint64_t byte, std::string_view why) const { refuse_file(path_, byte, why, site_); }

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  [[noreturn]] void fail(int error) const;

  std::string path_;
  Site site_;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t size_ = 0;
};

}  // namespace tutti
