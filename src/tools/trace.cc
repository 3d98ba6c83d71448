#include "tools/trace.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include "tools/run.h"
#include "tutti/base/error.h"
#include "tutti/base/paragraph.h"
#include "tutti/base/text.h"
#include "tutti/base/whole_file.h"
#include "tutti/trace/baseline.h"
#include "tutti/trace/format.h"
#include "tutti/trace/trace_compare.h"
#include "tutti/trace/trace_file.h"
#include "tutti/trace/trace_report.h"

namespace tutti::tools {

namespace {

namespace files = std::filesystem;

constexpr const char* injection_variable = "CUDA_INJECTION64_PATH";
constexpr const char* ranges_variable = "NVTX_INJECTION64_PATH";
constexpr const char* preload_variable = "LD_PRELOAD";
constexpr int failed = 1;
constexpr int signalled = 128;
constexpr int too_many = 3;

// Beside the command, or where a build or an installation puts libraries.
files::path find_recorder() {
  const files::path here = files::read_symlink("/proc/self/exe").parent_path();
  for (const char* folder : {".", "../lib", "../" TUTTI_LIBRARY_FOLDER}) {
    std::error_code error;
    files::path path = files::canonical(here / folder / "libtutti_trace.so", error);
    if (!error) return path;
  }
  throw std::runtime_error(
      "there is no recorder (libtutti_trace.so) beside this command: it is built where the headers of CUDA 12 or 13 and CUPTI "
      "are found. Traces of other machines can be read: tutti trace --read FOLDER");
}

std::string why_nothing() {
  const char* const said = "tutti: nothing was recorded: ";
  if (::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) == nullptr)
    return text(said, "this machine has no NVIDIA driver (libcuda.so.1), and without it no program waits for a GPU");
  return text(said, "no process used CUDA, or none was given the environment of this command");
}

bool has_traces(const files::path& folder) {
  std::error_code error;
  for (const auto& entry : files::directory_iterator(folder, error)) {
    if (entry.path().extension() == tracing::file_suffix) return true;
  }
  return false;
}

[[noreturn]] void refuse_folder(const files::path& folder, const std::string& why) {
  throw std::runtime_error(text("the folder '", printable(folder.string()), "' cannot be made: ", why, "; name another with -o"));
}

files::path make_folder(const std::string& asked) {
  files::path folder = asked.empty() ? "tutti-trace" : asked;
  for (int number = 2; asked.empty() && files::exists(folder); ++number) folder = text("tutti-trace-", number);
  if (has_traces(folder))
    throw std::runtime_error(text("'", printable(folder.string()), "' holds a trace already; name another folder"));
  std::error_code error;
  files::create_directories(folder, error);
  if (error) refuse_folder(folder, error.message());
  if (!files::is_directory(folder, error)) refuse_folder(folder, "a file has that name");
  if (::access(folder.c_str(), W_OK | X_OK) != 0) refuse_folder(folder, "no file can be made in the one that is there");
  files::path whole = files::canonical(folder, error);
  if (error) refuse_folder(folder, error.message());
  return whole;
}

// Sleeps are seen by standing before the C library's functions; what the user has preloaded comes next.
void preload(const std::string& recorder) {
  if (recorder.find_first_of(" :") != std::string::npos) {
    std::cerr << paragraph(text("tutti: warning: ", recorder,
                                " has a space or a colon in its path and cannot be preloaded: waits that a host callback ends, "
                                "as JAX's, are not seen"));
    return;
  }
  const char* const others = std::getenv(preload_variable);
  set_variable(preload_variable, others == nullptr || *others == '\0' ? recorder : text(recorder, ":", others));
}

volatile std::sig_atomic_t traced = 0;  // the program

void pass_on(int signal) { ::kill(traced, signal); }

// Ctrl-C reaches the program by itself; what ends this command alone is passed on to it. This command stays to report. Once the
// program has ended, signals are this command's again.
int run_to_its_end(const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // A signal that comes before it can be passed on waits until then.
  constexpr std::array signals{SIGTERM, SIGHUP, SIGINT, SIGQUIT};
  sigset_t held;
  sigset_t before;
  ::sigemptyset(&held);
  for (const int each : signals) ::sigaddset(&held, each);
  ::sigprocmask(SIG_BLOCK, &held, &before);
  const pid_t child = ::fork();
  if (child < 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    throw std::runtime_error("no process could be started");
  }
  if (child == 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(say_why_not_started(command[0], errno));
  }
  traced = child;
  const std::array handlers{std::signal(SIGTERM, pass_on), std::signal(SIGHUP, pass_on), std::signal(SIGINT, SIG_IGN),
                            std::signal(SIGQUIT, SIG_IGN)};
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  siginfo_t ended;
  while (::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {}
  // With its status the program gives up its id, which may be another process's next.
  ::sigprocmask(SIG_BLOCK, &held, nullptr);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  for (std::size_t i = 0; i < signals.size(); ++i) std::signal(signals[i], handlers[i]);
  traced = 0;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return WIFSIGNALED(status) ? signalled + WTERMSIG(status) : WEXITSTATUS(status);
}

// None where none was asked for.
std::optional<tracing::Baseline> read_baseline(const std::string& path) {
  if (path.empty()) return std::nullopt;
  std::error_code error;
  if (files::is_directory(path, error)) {
    const files::path meant = files::path(path) / "report.json";
    throw std::runtime_error(text("the baseline '", printable(path), "' is a folder; ",
                                  files::exists(meant, error) ? text("did you mean '", printable(meant.string()), "'?")
                                                              : "the report.json of a trace was expected"));
  }
  if (!files::exists(path, error)) {
    throw std::runtime_error(
        text("there is no file '", printable(path), "' to be the baseline; the report.json of a trace was expected"));
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(text("the baseline '", printable(path), "' cannot be read; may you read that file?"));
  return tracing::read_baseline(std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()), path);
}

bool is_judged(const TraceOptions& options) { return options.budget || !options.baseline.empty(); }

// A gate that lets through what was not measured is none.
int say_unjudged(const std::string& asked, const std::string& what) {
  std::cerr << paragraph(text("tutti: error: ", asked, ": nothing was judged", what));
  return failed;
}

std::string gates(const TraceOptions& options) {
  return options.baseline.empty() ? "--budget" : options.budget ? "--budget and --baseline" : "--baseline";
}

// Of a program that ran and left no trace.
int end_untraced(const TraceOptions& options, int status) {
  return status == 0 && is_judged(options) ? say_unjudged(gates(options), ": no process was traced") : status;
}

void write(const files::path& path, const std::string& content) {
  WholeFile file(path.string());
  file.write(content);
  file.finish();
}

// Waits of the whole baseline would allow nearly any a step.
bool fits(const tracing::Baseline& baseline, const tracing::TraceReport& found) { return !baseline.has_totals || !found.steps; }

// What a run was allowed and did not keep to, a line each. Of a part of a run nothing is told.
std::vector<std::string> excesses(const TraceOptions& options, const std::optional<tracing::Baseline>& baseline,
                                  const tracing::TraceReport& found) {
  std::vector<std::string> out;
  const bool is_part = std::any_of(found.processes.begin(), found.processes.end(),
                                   [](const tracing::TracedProcess& process) { return process.is_incomplete; });
  if (is_part) return out;
  const tracing::WaitsPerStep most = tracing::most_waits_per_step(found);
  if (options.budget && most.waits > *options.budget + tracing::half_a_tenth) {
    const std::string of = found.processes.size() == 1 ? "" : text(" of process ", found.processes[most.process].pid);
    out.push_back(
        text(tracing::in_tenths(most.waits), found.steps ? " waits a step" : " waits", of, "; the budget is ", *options.budget));
  }
  if (baseline && fits(*baseline, found)) {
    for (std::string& line : tracing::waits_beyond(*baseline, found)) out.push_back(std::move(line));
  }
  return out;
}

// 0, or the status for what was not judged.
int end_judged(const TraceOptions& options, const std::optional<tracing::Baseline>& baseline, const tracing::TraceReport& found) {
  if (!is_judged(options)) return 0;
  for (const tracing::TracedProcess& process : found.processes) {
    if (!process.was_untraced && !process.is_incomplete) continue;
    const char* const why = process.was_untraced ? ": it ran untraced" : ": its trace is incomplete";
    return say_unjudged(gates(options), text(" of process ", process.pid, why));
  }
  if (const std::size_t files = found.unread.size(); files != 0)
    return say_unjudged(gates(options), text(": ", files, files == 1 ? " file" : " files", " of the trace could not be read"));
  if (baseline && !fits(*baseline, found)) {
    return say_unjudged("--baseline",
                        " by it: its run had no steps, so that it holds totals, and waits are counted by step here; keep the "
                        "report.json of a run with steps");
  }
  return 0;
}

// 0, or the status for what was passed, or was not judged.
int report(const files::path& folder, const TraceOptions& options, const std::optional<tracing::Baseline>& baseline) {
  const tracing::Traces traces = tracing::read_traces(folder.string());
  const tracing::TraceReport found = tracing::make_report(traces);
  std::cerr << found.to_text();
  const std::vector<std::string> passed = excesses(options, baseline, found);
  for (const std::string& line : passed) std::cerr << text("tutti: too many waits: ", line, "\n");
  if (files::is_directory(folder)) {
    try {
      write(folder / "report.json", found.to_json());
      write(folder / "timeline.json", tracing::to_timeline(found, traces.processes));
      write(folder / "report.html", tracing::to_page(found, traces.processes));
      std::cerr << text("tutti: report.html, report.json and timeline.json are in ", folder.string(), "\n");
    } catch (const std::exception& error) {  // somebody else's folder, perhaps: the report was given
      std::cerr << paragraph(text("tutti: warning: no report can be written to '", printable(folder.string()),
                                  "': ", error.what(), "; what is told above is all"));
    }
  }
  return passed.empty() ? end_judged(options, baseline, found) : too_many;
}

// What goes wrong, in lines of a terminal.
template <class Command>
int told(Command&& command) {
  try {
    return command();
  } catch (const Error& error) {
    std::cerr << paragraph(text("tutti: error: ", error.message()));
  } catch (const std::exception& error) {
    std::cerr << paragraph(text("tutti: error: ", error.what()));
  }
  return failed;
}

int run_traced(const TraceOptions& options) {
  const std::optional<tracing::Baseline> baseline = read_baseline(options.baseline);  // before the program runs for an hour
  const files::path recorder = find_recorder();
  if (const char* other = std::getenv(injection_variable); other != nullptr && *other != '\0' && recorder != other) {
    std::cerr << paragraph(text("tutti trace: the program runs untraced: ", injection_variable, " is set to ", printable(other),
                                ", and the driver loads one such library into a program. Unset it to trace."));
    return end_untraced(options, run_to_its_end(options.command));
  }
  const files::path folder = make_folder(options.folder);
  set_variable(injection_variable, recorder.string());
  preload(recorder.string());
  if (std::getenv(ranges_variable) == nullptr) set_variable(ranges_variable, recorder.string());  // else another tool has them
  set_variable(tracing::recorder_variable, text(options.records_work ? "work:" : "waits:", folder.string()));
  const int status = run_to_its_end(options.command);
  if (!has_traces(folder)) {
    if (status != not_runnable && status != not_found) std::cerr << paragraph(why_nothing());
    std::error_code error;
    files::remove(folder, error);  // if it is empty
    return end_untraced(options, status);
  }
  const int judged = told([&] { return report(folder, options, baseline); });
  return status != 0 ? status : judged;
}

int print_comparison(const TraceOptions& options) {
  const tracing::Traces traces = tracing::read_traces(options.compare[0]);
  const tracing::TraceReport before = tracing::make_report(traces);
  const tracing::TraceReport after = tracing::make_report(tracing::read_traces(options.compare[1]));
  const tracing::TraceComparison found = tracing::compare(before, after, traces.processes);
  std::cout << (options.as_json ? found.to_json() : found.to_text()) << std::flush;
  if (!std::cout) throw std::runtime_error("the output could not be written");
  return 0;
}

}  // namespace

int trace_program(const TraceOptions& options) {
  return told([&] { return run_traced(options); });
}

int report_trace(const TraceOptions& options) {
  return told([&] {
    const std::optional<tracing::Baseline> baseline = read_baseline(options.baseline);
    return report(options.read, options, baseline);
  });
}

int compare_traces(const TraceOptions& options) {
  return told([&] { return print_comparison(options); });
}

}  // namespace tutti::tools
