#include "tutti/journal/trace_file.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

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
  pid_t process = 0;  // 0: nothing was asked for
};

// Leaked on purpose: it is read when the process exits.
Request& request() {
  static Request& instance = *new Request;
  return instance;
}

void write_at_exit() noexcept {
  try {
    stop();
    const std::lock_guard lock(request().mutex);
    if (::getpid() != request().process || files_are_left_to_others()) return;
    write_chrome_trace(path_of_this_process(request().path), request().site);
  } catch (const std::exception& error) {
    set_log_sink({});  // what the user's sink refers to may be gone by now
    log(LogLevel::error, error.what());
  }
}

// Handlers run in the reverse of the order in which they were registered. This one comes before main(), so by the time
// it runs the runtime has stopped and its last events are in.
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
  if (std::exchange(request().process, ::getpid()) != 0) return;
  start();
  std::atexit(write_at_exit);
}

}  // namespace tutti::journal
