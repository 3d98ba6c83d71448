#include "tutti/base/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "tutti/base/text.h"

namespace tutti {

namespace {

[[noreturn]] void refuse(int error) { throw std::system_error(error, std::generic_category()); }

// A link to what the process has open, be it a file: the program writes there too.
bool is_descriptor(std::string_view path) {
  return path.starts_with("/dev/std") || path.starts_with("/dev/fd/") || path.starts_with("/proc/");
}

// Two threads may write files of one name; a process that was killed may have left some behind.
std::string temporary_name(const std::filesystem::path& path) {
  static constinit std::atomic<unsigned> made{0};
  return text(path.string(), ".", ::getpid(), ".", made.fetch_add(1, std::memory_order_relaxed), ".tmp");
}

}  // namespace

WholeFile::WholeFile(const std::string& path) : path_(path) {
  std::error_code none;
  const std::filesystem::file_status before = std::filesystem::status(path_, none);
  if (is_descriptor(path) || (exists(before) && !is_regular_file(before))) {
    file_ = std::fopen(path.c_str(), "wb");
    if (file_ == nullptr) refuse(errno);
    return;
  }
  if (exists(before)) {
    if (::access(path.c_str(), W_OK) != 0) refuse(errno);
    path_ = std::filesystem::canonical(path_);  // a link stays one
  }
  temporary_ = temporary_name(path_);
  std::filesystem::remove(temporary_, none);
  file_ = std::fopen(temporary_.c_str(), "wbx");
  if (file_ == nullptr) refuse(errno);
  if (exists(before)) std::filesystem::permissions(temporary_, before.permissions(), none);
}

WholeFile::~WholeFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::error_code none;
  if (!temporary_.empty()) std::filesystem::remove(temporary_, none);
}

void WholeFile::write(std::string_view piece) {
  if (std::fwrite(piece.data(), 1, piece.size(), file_) != piece.size()) refuse(errno);
}

void WholeFile::finish() {
  if (std::fflush(file_) != 0) refuse(errno);
  take_name();
}

void WholeFile::finish_on_disk() {
  if (std::fflush(file_) != 0) refuse(errno);
  if (temporary_.empty()) return take_name();
  // The bytes before the name: else a name may be there after a crash, and nothing under it.
  if (::fsync(::fileno(file_)) != 0) refuse(errno);
  take_name();
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) refuse(errno);
  const int error = ::fsync(descriptor) != 0 ? errno : 0;
  ::close(descriptor);
  if (error != 0 && error != EINVAL) refuse(error);  // some file systems cannot be told this of a folder
}

void WholeFile::take_name() {
  if (!temporary_.empty()) std::filesystem::rename(temporary_, path_);
  if (std::fclose(std::exchange(file_, nullptr)) != 0) refuse(errno);
}

}  // namespace tutti
