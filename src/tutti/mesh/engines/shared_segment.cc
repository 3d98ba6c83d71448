#include "tutti/mesh/engines/shared_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti {

namespace {

// Instead of a location: why there is none.
constexpr std::string_view none = "none: ";

// Where a segment is: enough to tell why it cannot be reached, and to notice another process that got the same pid.
struct Location {
  std::string boot;  // of the running kernel: the host
  std::string pids;  // the pid namespace
  long pid = 0;
  int descriptor = -1;
  unsigned long long inode = 0;
};

std::string boot_of_this_host() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot.empty() ? "unknown" : boot;
}

std::string pid_namespace() {
  std::array<char, 64> target{};
  const ssize_t length = ::readlink("/proc/self/ns/pid", target.data(), target.size() - 1);
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : "unknown";
}

unsigned long long inode_of(int descriptor) {
  struct stat about {};
  return ::fstat(descriptor, &about) == 0 ? about.st_ino : 0;
}

[[noreturn]] void refuse(const std::string& what, const std::string& why) {
  throw InvalidState(text("Shared memory of another process ", what, ": ", why, "."), Site());
}

Location parse(const std::string& location) {
  std::istringstream in(location);
  Location where;
  in >> where.boot >> where.pids >> where.pid >> where.descriptor >> where.inode;
  if (in.fail() || where.pid <= 0 || where.descriptor < 0)
    refuse("is not known", text("no place is called '", printable(location), "'"));
  return where;
}

int open_elsewhere(const Location& where) {
  if (where.boot != boot_of_this_host()) refuse("is on another host", "its processes and this one meet through sockets");
  if (where.pids != pid_namespace()) {
    refuse("is in another container", "its processes are not seen from here; share the pid namespace, or meet through sockets");
  }
  const std::string path = text("/proc/", where.pid, "/fd/", where.descriptor);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    const int cause = errno;
    if (cause == EACCES || cause == EPERM) {
      refuse("may not be opened",
             text("process ", where.pid, " belongs to another user; run all as one, or meet through sockets"));
    }
    refuse("is gone", text("process ", where.pid, " has ended or let go of it (", std::strerror(cause), ")"));
  }
  if (inode_of(descriptor) != where.inode) {
    ::close(descriptor);
    refuse("is gone", text("process ", where.pid, " is not the one that made it"));
  }
  return descriptor;
}

}  // namespace

SharedSegment::SharedSegment(int descriptor, std::size_t bytes) : descriptor_(descriptor), bytes_(bytes) {
  data_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (data_ == MAP_FAILED) {
    const int cause = errno;
    ::close(descriptor);
    throw OutOfMemory(text("Shared memory of ", human_bytes(bytes), " cannot be mapped: ", std::strerror(cause), "."), Site());
  }
}

SharedSegment SharedSegment::create(std::size_t bytes) {
  // Such memory counts as a file, and a signal would end this process.
  rlimit largest_file{};
  if (::getrlimit(RLIMIT_FSIZE, &largest_file) == 0 && largest_file.rlim_cur < bytes) {
    throw OutOfMemory(text("Shared memory of ", human_bytes(bytes), " is not to be had: no file may have more than ",
                           human_bytes(largest_file.rlim_cur), " (ulimit -f)."),
                      Site());
  }
  const int descriptor = ::memfd_create("tutti", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  int cause = descriptor < 0 ? errno : 0;
  if (cause == 0) cause = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  // Nobody may make it shorter while others have it mapped: they would be killed.
  if (cause == 0 && ::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) cause = errno;
  if (cause != 0) {
    if (descriptor >= 0) ::close(descriptor);
    throw OutOfMemory(text("Shared memory of ", human_bytes(bytes), " is not to be had: ", std::strerror(cause), "."), Site());
  }
  return {descriptor, bytes};
}

SharedSegment SharedSegment::attach(const std::string& location, std::size_t bytes) {
  const Location where = parse(location);
  const int descriptor = open_elsewhere(where);
  struct stat about {};
  if (::fstat(descriptor, &about) != 0 || static_cast<std::size_t>(about.st_size) != bytes) {
    ::close(descriptor);
    refuse("does not fit",
           text("it has ", about.st_size, " bytes where ", bytes, " were expected; the processes disagree on their group"));
  }
  return {descriptor, bytes};
}

SharedSegment SharedSegment::meet(Rendezvous& rendezvous, const std::string& key, std::size_t bytes, bool creates,
                                  Deadline deadline) {
  if (!creates) {
    const std::string location = rendezvous.get(key, deadline);
    if (location.starts_with(none)) refuse("could not be made", location.substr(none.size()));
    return attach(location, bytes);
  }
  try {
    SharedSegment segment = create(bytes);
    rendezvous.put(key, segment.location());
    return segment;
  } catch (const OutOfMemory& e) {
    rendezvous.put(key, text(none, e.message()));  // so that nobody waits for it
    throw;
  }
}

std::string SharedSegment::location() const {
  return text(boot_of_this_host(), " ", pid_namespace(), " ", static_cast<long>(::getpid()), " ", descriptor_, " ",
              inode_of(descriptor_));
}

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(std::exchange(other.bytes_, 0)),
      data_(std::exchange(other.data_, nullptr)) {}

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_, other.bytes_);
  std::swap(data_, other.data_);
  return *this;
}

SharedSegment::~SharedSegment() {
  if (data_ == nullptr) return;
  ::munmap(data_, bytes_);
  ::close(descriptor_);
}

}  // namespace tutti
