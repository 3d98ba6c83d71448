#include <unistd.h>

#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "tutti/base/end_of_process.h"
#include "tutti/base/environment.h"
#include "tutti/base/log.h"
#include "tutti/base/rank_files.h"
#include "tutti/base/text.h"
#include "tutti/base/whole_file.h"
#include "tutti/diag/sync_report.h"

namespace tutti {

namespace {

constexpr std::array<std::string_view, 3> forms{"text", "json", "html"};
constexpr std::array<std::string_view, 3> usual_paths{"", "tutti-sync.json", "tutti-sync.html"};

struct Request {
  std::mutex mutex;
  std::array<std::optional<std::string>, forms.size()> paths;  // none: not asked for; empty: stderr
  pid_t process = 0;                                           // that asked; 0: none
};

// Leaked on purpose: it is read when the process exits.
Request& request() {
  static Request& instance = *new Request;
  return instance;
}

std::string in_form(const SyncReport& report, std::size_t form) {
  switch (SyncReportForm{static_cast<std::uint8_t>(form)}) {
    case SyncReportForm::text: return report.to_text();
    case SyncReportForm::json: return report.to_json();
    case SyncReportForm::html: return report.to_html();
  }
  return {};
}

void write_file(const std::string& path, std::string_view content) {
  try {
    WholeFile file(path);
    file.write(content);
    file.finish();
  } catch (const std::system_error& error) {
    throw std::runtime_error(text("the sync report cannot be written to '", printable(path), "': ", error.code().message(),
                                  "; give the path of a file in a folder that exists, lets you write and has room"));
  }
}

void write_at_end() noexcept {
  if (files_are_left_to_others()) return;
  const std::lock_guard lock(request().mutex);
  set_log_sink({});  // what the user's sink refers to may be gone by now
  try {
    const SyncReport report = sync_report();
    for (std::size_t form = 0; form < forms.size(); ++form) {
      const std::optional<std::string>& path = request().paths[form];
      if (!path) continue;
      try {
        const std::string content = in_form(report, form);
        if (path->empty()) {
          std::fwrite(content.data(), 1, content.size(), stderr);
        } else {
          const std::string own = path_of_this_process(*path);
          write_file(own, content);
          log(LogLevel::info, text("tutti: the sync report is in ", printable(own)));
        }
      } catch (const std::exception& error) {
        log(LogLevel::error, error.what());
      }
    }
  } catch (const std::exception& error) {
    log(LogLevel::error, text("the sync report cannot be made: ", error.what()));
  }
}

void ask_for(std::string_view wanted) {
  const std::string_view word = wanted.substr(0, wanted.find(':'));
  for (std::size_t form = 0; form < forms.size(); ++form) {
    if (word != forms[form]) continue;
    sync_report_at_exit(SyncReportForm{static_cast<std::uint8_t>(form)},
                        std::string(word.size() == wanted.size() ? "" : wanted.substr(word.size() + 1)));
    return;
  }
  log(LogLevel::warning,
      text("TUTTI_SYNC_REPORT='", printable(wanted), "' is ignored: text, json or html, or one of them with :path, expected"));
}

// At exit() the last one asked for writes first. This one comes before main(), so by the time it writes the runtime has stopped
// and its last events are in.
[[maybe_unused]] const bool report_was_asked_for = [] {
  const std::optional<std::string> mode = environment_text("TUTTI_SYNC");
  if (mode == "report") sync_report_at_exit(SyncReportForm::text);
  const std::optional<std::string> wanted = environment_text("TUTTI_SYNC_REPORT");
  if (wanted) ask_for(*wanted);
  if (journal::is_recording() && ::gettid() == ::getpid()) journal::name_this_thread("main");
  return wanted.has_value();
}();

}  // namespace

void sync_report_at_exit(SyncReportForm form, const std::string& path) {
  const auto index = static_cast<std::size_t>(form);
  std::string whole = path.empty() ? std::string(usual_paths.at(index)) : path;
  if (!whole.empty()) whole = std::filesystem::absolute(whole).string();  // the program may change its folder
  const std::lock_guard lock(request().mutex);
  request().paths.at(index) = std::move(whole);
  if (form == SyncReportForm::html && !journal::is_recording()) journal::start();
  if (std::exchange(request().process, ::getpid()) != ::getpid()) write_at_end_of_process(write_at_end);
}

}  // namespace tutti
