#include "tutti/mesh/control/job_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/job_folder.h"

namespace tutti {

namespace {

constexpr std::size_t longest_note = 4096;
constexpr std::string_view beginning = "tutti-job-";

std::string errno_text() { return std::generic_category().message(errno); }

// A job's name may hold anything; the file's holds what a name may, and a sum that tells apart what was replaced.
std::string file_name(std::string_view job) {
  static constexpr std::size_t longest = 100;
  std::uint64_t sum = 14'695'981'039'346'656'037U;
  std::string out(beginning);
  for (const char c : job) {
    sum = (sum ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
    const bool is_plain = is_digit(c) || is_letter(c) || c == '-' || c == '.';
    if (out.size() < longest) out += is_plain ? c : '_';
  }
  return text(out, "-", sum);
}

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

bool is_still_at(const std::string& path, int descriptor) {
  struct stat open_file {};
  struct stat at_path {};
  return ::fstat(descriptor, &open_file) == 0 && ::lstat(path.c_str(), &at_path) == 0 && open_file.st_ino == at_path.st_ino &&
         open_file.st_dev == at_path.st_dev;
}

bool is_for_this_user_alone(const struct stat& file) {
  return S_ISREG(file.st_mode) && file.st_uid == ::getuid() && (file.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

void check_file(const std::string& path, int descriptor, Site site) {
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) throw InvalidState(text(path, " cannot be looked at: ", errno_text()), site);
  if (!is_for_this_user_alone(found)) {
    throw InvalidState(text(path, " is not a file for this user alone (mode 600); take it away"), site);
  }
}

// A note that nobody holds the lock of is that of a coordinator that was killed. Whoever claims it at this moment finds it gone,
// and tries again.
void remove_abandoned(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat found {};
  struct flock lock = whole_file();
  if (file.get() < 0 || ::fstat(file.get(), &found) != 0 || !is_for_this_user_alone(found)) return;
  if (::fcntl(file.get(), F_OFD_SETLK, &lock) == 0 && is_still_at(path, file.get())) JobFile::remove(path);
}

void remove_all_abandoned(const std::string& folder) {
  std::error_code ended;
  for (std::filesystem::directory_iterator entry(folder, ended), end; !ended && entry != end; entry.increment(ended)) {
    if (entry->path().filename().string().starts_with(beginning)) remove_abandoned(entry->path());
  }
}

std::optional<JobNote> read_at(const std::string& path, Site site) {
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (file.get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    throw InvalidState(text(path, " cannot be read: ", errno_text()), site);
  }
  check_file(path, file.get(), site);
  struct flock lock = whole_file();
  if (::fcntl(file.get(), F_OFD_GETLK, &lock) != 0)
    throw InvalidState(text(path, " cannot be asked for its lock: ", errno_text()), site);
  if (lock.l_type == F_UNLCK || !is_still_at(path, file.get())) {
    remove_abandoned(path);
    return std::nullopt;
  }
  std::string bytes(longest_note, '\0');
  const ssize_t count = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  const wire::Secret read(std::move(bytes));
  if (count < 0) throw InvalidState(text(path, " cannot be read: ", errno_text()), site);
  // Three lines, the last of which says that the others are whole.
  const std::string_view note = std::string_view(read).substr(0, static_cast<std::size_t>(count));
  const std::size_t first = note.find('\n');
  if (first == std::string_view::npos || !note.ends_with("\nend\n")) return std::nullopt;
  const std::size_t second = note.find('\n', first + 1);
  return JobNote{std::string(note.substr(0, first)), std::string(note.substr(first + 1, second - first - 1))};
}

}  // namespace

JobFile::JobFile(std::string_view job, Site site, std::string shared)
    : name_(file_name(job)), shared_(std::move(shared)), site_(site), path_(place()) {}

JobFile::~JobFile() {
  if (descriptor_ < 0) return;
  if (!is_written_) remove(path_);
  ::close(descriptor_);
}

std::optional<JobNote> JobFile::read() const {
  for (const std::string& folder : job_folders(shared_, site_)) {
    if (auto note = read_at(text(folder, "/", name_), site_)) return note;
  }
  return std::nullopt;
}

std::string JobFile::place() const {
  const std::vector<std::string> folders = job_folders(shared_, site_);
  for (const std::string& folder : folders) {
    std::string path = text(folder, "/", name_);
    if (std::filesystem::exists(std::filesystem::symlink_status(path))) return path;
  }
  return text(folders.empty() ? text(shared_, "/tutti-", ::getuid()) : folders.front(), "/", name_);
}

bool JobFile::claim() {
  make_job_folder(shared_, site_);
  for (const std::string& folder : job_folders(shared_, site_)) remove_all_abandoned(folder);
  path_ = place();
  for (;;) {
    Descriptor file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
    if (file.get() < 0) throw InvalidState(text(path_, " cannot be written: ", errno_text()), site_);
    check_file(path_, file.get(), site_);
    struct flock lock = whole_file();
    if (::fcntl(file.get(), F_OFD_SETLK, &lock) != 0) {
      if (errno == EAGAIN || errno == EACCES) return false;
      throw InvalidState(text(path_, " cannot be locked: ", errno_text()), site_);
    }
    // A coordinator that has just ended took it away.
    if (!is_still_at(path_, file.get())) continue;
    if (::ftruncate(file.get(), 0) != 0) throw InvalidState(text(path_, " cannot be written: ", errno_text()), site_);
    descriptor_ = file.release();
    return true;
  }
}

void JobFile::write(const JobNote& note) {
  std::string lines;
  lines.reserve(note.address.size() + note.secret.text().size() + std::string_view("\n\nend\n").size());  // never moved
  lines += note.address;
  (lines += '\n') += note.secret.text();
  lines += "\nend\n";
  const wire::Secret whole(std::move(lines));
  const std::string& bytes = whole.text();
  if (bytes.size() > longest_note || std::ranges::count(bytes, '\n') != 3) {
    throw InvalidArgument("a job's address and secret have one line each, of at most 4000 characters together", site_);
  }
  if (::pwrite(descriptor_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw InvalidState(text(path_, " cannot be written: ", errno_text()), site_);
  }
  is_written_ = true;
}

void JobFile::remove(const std::string& path) noexcept { ::unlink(path.c_str()); }

}  // namespace tutti
