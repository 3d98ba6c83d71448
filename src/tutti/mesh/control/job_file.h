// A file that only this user can read, named by the job: where rank 0 leaves the coordinator's address and the secret for the
// other ranks of this host. The coordinator holds a lock on it for as long as it lives, so nobody takes an old one for a living
// one, and whoever comes across the note of a coordinator that was killed takes it away.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tutti/base/site.h"
#include "tutti/mesh/wire/secret.h"

namespace tutti {

struct JobNote {
  std::string address;
  wire::Secret secret;
};

class JobFile {
 public:
  // In one of the folders of job_folder.h, whichever has it.
  JobFile(std::string_view job, Site site = {}, std::string shared = "/tmp");
  JobFile(const JobFile&) = delete;
  JobFile& operator=(const JobFile&) = delete;
  ~JobFile();

  // Where it is, or would be.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // What the living coordinator's note says. Nothing: there is none, or it has not written it yet.
  [[nodiscard]] std::optional<JobNote> read() const;

  // For rank 0: true where no coordinator lived; then this object holds the lock, and so does what inherits its descriptor. A
  // file that was claimed and never written goes with this object.
  bool claim();
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  void write(const JobNote& note);

  // For the coordinator, which has inherited the lock: takes the file away, so that nothing of the job is left.
  static void remove(const std::string& path) noexcept;

 private:
  [[nodiscard]] std::string place() const;

  std::string name_;
  std::string shared_;
  Site site_;
  std::string path_;
  int descriptor_ = -1;  // claimed
  bool is_written_ = false;
};

}  // namespace tutti
