#include "tutti/mesh/control/job_folder.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

#include "tutti/base/environment.h"
#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti {

namespace {

std::string reason_of_errno() { return std::generic_category().message(errno); }

// Empty: nobody else can put files into it, and it is no link to another.
std::string objection_to(const std::string& folder) {
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0) return text("the folder ", folder, " cannot be used: ", reason_of_errno());
  if (!S_ISDIR(found.st_mode)) return text(folder, " is no folder; take it away, or set XDG_RUNTIME_DIR to one");
  if (found.st_uid != ::getuid()) {
    return text("the folder ", folder, " belongs to user ", found.st_uid, ", not to ", ::getuid(),
                "; set XDG_RUNTIME_DIR to one of your own");
  }
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return text("others can write to the folder ", folder, ", where a job's secret would be kept; chmod 700 it");
  }
  return {};
}

std::optional<std::string> runtime_folder() {
  auto folder = environment_text("XDG_RUNTIME_DIR");
  return folder && folder->starts_with('/') ? std::move(folder) : std::nullopt;
}

std::string plain_folder(const std::string& shared) { return text(shared, "/tutti-", ::getuid()); }

}  // namespace

std::vector<std::string> job_folders(const std::string& shared, Site site) {
  if (const auto folder = runtime_folder()) {
    if (const std::string objection = objection_to(*folder); !objection.empty()) throw InvalidState(objection, site);
    return {*folder};
  }
  const std::string plain = plain_folder(shared);
  const std::string beginning = text("tutti-", ::getuid(), "-");
  std::vector<std::string> folders;
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir(shared.c_str()), ::closedir);
  while (const dirent* const entry =
             all ? ::readdir(all.get()) : nullptr) {  // NOLINT(concurrency-mt-unsafe): a stream of its own
    if (std::string_view(entry->d_name).starts_with(beginning)) folders.push_back(text(shared, "/", entry->d_name));
  }
  std::sort(folders.begin(), folders.end());
  folders.insert(folders.begin(), plain);
  std::erase_if(folders, [](const std::string& folder) { return !objection_to(folder).empty(); });
  return folders;
}

std::string make_job_folder(const std::string& shared, Site site) {
  if (const std::vector<std::string> folders = job_folders(shared, site); !folders.empty()) return folders.front();
  std::string plain = plain_folder(shared);
  if (::mkdir(plain.c_str(), S_IRWXU) == 0 || objection_to(plain).empty()) return plain;
  std::string fresh = plain + "-XXXXXX";
  if (::mkdtemp(fresh.data()) == nullptr)
    throw InvalidState(text("a folder for the job's file cannot be made in ", shared, ": ", reason_of_errno()), site);
  return fresh;
}

}  // namespace tutti
