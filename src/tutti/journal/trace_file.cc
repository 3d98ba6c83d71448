#include "tutti/journal/trace_file.h"

#include <unistd.h>

#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "tutti/base/end_of_process.h"
#include "tutti/base/environment.h"
#include "tutti/base/log.h"
#include "tutti/base/rank_files.h"
#include "tutti/base/text.h"
#include "tutti/journal/chrome_trace.h"
#include "tutti/journal/journal.h"

namespace tutti::journal {

namespace {

struct Request {
  std::mutex mutex;
  std::string path;
  Site site;
  pid_t process = 0;  // that asked; 0: none
};

// Leaked on purpose: it is read when the process exits.
Request& request() {
  static Request& instance = *new Request;
  return instance;
}

void write_at_end() noexcept {
  try {
    stop();
    if (files_are_left_to_others()) return;
    const std::lock_guard lock(request().mutex);
    write_chrome_trace(path_of_this_process(request().path), request().site);
  } catch (const std::exception& error) {
    set_log_sink({});  // what the user's sink refers to may be gone by now
    log(LogLevel::error, error.what());
  }
}

// At exit() the last one asked for writes first. This one comes before main(), so by the time it writes the runtime has stopped
// and its last events are in.
[[maybe_unused]] const bool was_asked_for = [] {
  const std::optional<std::string> path = environment_text("TUTTI_TRACE");
  if (path) trace_until_exit(*path);
  if (path && ::gettid() == ::getpid()) name_this_thread("main");
  return path.has_value();
}();

}  // namespace

void trace_until_exit(const std::string& path, Site site) {
  const std::lock_guard lock(request().mutex);
  request().path = path;
  request().site = site;
  if (std::exchange(request().process, ::getpid()) == ::getpid()) return;
  start();
  write_at_end_of_process(write_at_end);
}

}  // namespace tutti::journal
