#include "tutti/data/input_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "tutti/base/text.h"
#include "tutti/data/file_error.h"

namespace tutti {

void refuse_file(const std::string& path, std::uint64_t byte, std::string_view why, Site site) {
  throw FileError(text(path, ", byte ", byte, ": ", why), site);
}

std::string in_quotes(std::string_view name) { return text('"', printable(name), '"'); }

InputFile::InputFile(const std::string& path, Site site) : path_(path), site_(site), file_(std::fopen(path.c_str(), "rbe")) {
  if (file_ == nullptr) fail(errno);
  struct stat found = {};
  if (::fstat(::fileno(file_.get()), &found) != 0) fail(errno);
  if (!S_ISREG(found.st_mode)) throw FileError(text(path, " is no regular file"), site);
  size_ = static_cast<std::uint64_t>(found.st_size);
}

void InputFile::fail(int error) const {
  throw FileError(text(path_, " cannot be read: ", std::generic_category().message(error)), site_);
}

void InputFile::read(std::uint64_t at, void* to, std::size_t bytes) {
  if (::fseeko(file_.get(), static_cast<off_t>(at), SEEK_SET) != 0) fail(errno);
  const std::size_t got = std::fread(to, 1, bytes, file_.get());
  if (got == bytes) return;
  if (std::ferror(file_.get()) != 0) fail(errno);
  refuse(at + got, text("the file ends here; ", bytes - got, " more bytes were expected"));
}

std::string InputFile::text_at(std::uint64_t at, std::size_t bytes) {
  std::string out(bytes, '\0');
  read(at, out.data(), bytes);
  return out;
}

std::vector<std::byte> InputFile::rest(std::uint64_t at, std::uint64_t bytes) {
  // Before so much memory is asked for.
  if (size_ < at || size_ - at < bytes)
    refuse(size_, text("the file ends here; its header promises ", bytes, " bytes of values from byte ", at, " on"));
  if (size_ - at > bytes) refuse(at + bytes, text("the values end here, and the file has ", size_ - at - bytes, " bytes more"));
  std::vector<std::byte> out(bytes);
  read(at, out.data(), out.size());
  return out;
}

}  // namespace tutti
