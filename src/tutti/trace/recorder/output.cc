#include "tutti/trace/recorder/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace tutti::tracing {

namespace {
constexpr std::uint64_t kept_for_the_end = 4096;  // and for notes
constexpr std::size_t most_text = 16384;
}  // namespace

bool Output::open(const std::string& folder, std::uint64_t most_bytes) {
  // A process that executes another program keeps its id: that program's file has the next number.
  int file = -1;
  std::string path;
  for (int number = 0; file < 0 && number < 1000; ++number) {
    path = folder + "/" + std::to_string(::getpid()) + "-" + std::to_string(number) + file_suffix;
    file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0 && errno != EEXIST) return false;
  }
  if (file < 0) return false;
  // Programs close the low descriptors they do not know of.
  const int high = ::fcntl(file, F_DUPFD_CLOEXEC, 512);
  if (high >= 0) {
    ::close(file);
    file = high;
  }
  const FileHead head{file_magic, file_version, sizeof(FileHead)};
  if (::write(file, &head, sizeof head) != sizeof head) {
    const int why = errno;
    ::close(file);
    ::unlink(path.c_str());  // it would be no trace
    errno = why;
    return false;
  }
  most_bytes_ = most_bytes;
  written_ = sizeof head;
  file_ = file;
  return true;
}

void Output::forget() noexcept {
  const int file = file_.exchange(-1);
  if (file >= 0) ::close(file);
}

bool Output::append(RecordKind kind, const void* head, std::size_t head_bytes, const void* tail, std::size_t tail_bytes) {
  const int file = file_.load(std::memory_order_relaxed);
  if (file < 0) return false;
  const std::size_t bytes = head_bytes + tail_bytes;
  std::array<unsigned char, 512> small;
  std::string large;
  unsigned char* at = small.data();
  if (sizeof(RecordHead) + bytes > small.size()) {
    large.resize(sizeof(RecordHead) + bytes);
    at = reinterpret_cast<unsigned char*>(large.data());
  }
  const auto* from = static_cast<const unsigned char*>(head);
  unsigned char* body = at + sizeof(RecordHead);
  std::copy(from, from + head_bytes, body);
  if (tail_bytes != 0) {
    from = static_cast<const unsigned char*>(tail);
    std::copy(from, from + tail_bytes, body + head_bytes);
  }
  const RecordHead record{static_cast<std::uint32_t>(bytes), kind, 0, check_of(kind, body, bytes)};
  const auto* first = reinterpret_cast<const unsigned char*>(&record);
  std::copy(first, first + sizeof record, at);

  const std::size_t whole = sizeof(RecordHead) + bytes;
  const bool has_own_room = kind == RecordKind::end || kind == RecordKind::note;
  if (!has_own_room && !take_room(whole)) return false;
  ssize_t done = -1;
  do {
    done = ::write(file, at, whole);
  } while (done < 0 && errno == EINTR);
  if (done != static_cast<ssize_t>(whole)) {
    break_off(done > 0);
    return false;
  }
  return true;
}

// A full disk: a part of a record must stay the last one. A file of whole records is that of a program which was killed, and has
// all its waits.
void Output::break_off(bool ends_with_a_part) noexcept {
  const int file = file_.exchange(-1);
  if (file < 0) return;  // another thread has closed it
  struct stat found {};
  if (!ends_with_a_part && ::fstat(file, &found) == 0 && found.st_size > 0) (void)!::ftruncate(file, found.st_size - 1);
  ::close(file);
}

bool Output::take_room(std::size_t bytes) {
  const std::uint64_t most = most_bytes_ - kept_for_the_end;
  const std::uint64_t before = written_.fetch_add(bytes, std::memory_order_relaxed);
  if (before + bytes <= most) return true;
  if (before <= most) note(bound_reached);  // the first one
  return false;
}

std::uint32_t Output::text(std::string_view words) {
  words = words.substr(0, most_text);
  if (words.empty()) return 0;
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = texts_.try_emplace(std::string(words), static_cast<std::uint32_t>(texts_.size() + 1));
  if (is_new) {
    const IdHead head{found->second};
    append(RecordKind::text, &head, sizeof head, words.data(), words.size());
  }
  return found->second;
}

}  // namespace tutti::tracing
