#include "tools/trace.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "tools/run.h"
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

files::path make_folder(const std::string& asked) {
  files::path folder = asked.empty() ? "tutti-trace" : asked;
  for (int number = 2; asked.empty() && files::exists(folder); ++number) folder = text("tutti-trace-", number);
  if (has_traces(folder))
    throw std::runtime_error(text("'", printable(folder.string()), "' holds a trace already; name another folder"));
  files::create_directories(folder);
  return files::canonical(folder);
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

// Ctrl-C reaches the program by itself; what ends this command alone is passed on to it. This command stays to report.
int run_to_its_end(const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // A signal that comes before it can be passed on waits until then.
  sigset_t passed_on;
  sigset_t before;
  ::sigemptyset(&passed_on);
  for (const int each : {SIGTERM, SIGHUP}) ::sigaddset(&passed_on, each);
  ::sigprocmask(SIG_BLOCK, &passed_on, &before);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process could be started");
  if (child == 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(say_why_not_started(command[0], errno));
  }
  traced = child;
  for (const int each : {SIGTERM, SIGHUP}) std::signal(each, [](int signal) { ::kill(traced, signal); });
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGQUIT, SIG_IGN);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return WIFSIGNALED(status) ? signalled + WTERMSIG(status) : WEXITSTATUS(status);
}

tracing::Baseline read_baseline(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(text("'", printable(path), "' cannot be read"));
  return tracing::read_baseline(std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()), path);
}

void write(const files::path& path, const std::string& content) {
  WholeFile file(path.string());
  file.write(content);
  file.finish();
}

// What a run was allowed and did not keep to, a line each.
std::vector<std::string> excesses(const TraceOptions& options, const tracing::TraceReport& found) {
  std::vector<std::string> out;
  const tracing::WaitsPerStep most = tracing::most_waits_per_step(found);
  if (options.budget && most.waits > *options.budget + tracing::half_a_tenth) {
    const std::string of = found.processes.size() == 1 ? "" : text(" of process ", found.processes[most.process].pid);
    out.push_back(
        text(tracing::in_tenths(most.waits), found.steps ? " waits a step" : " waits", of, "; the budget is ", *options.budget));
  }
  if (!options.baseline.empty()) {
    for (std::string& line : tracing::waits_beyond(read_baseline(options.baseline), found)) out.push_back(std::move(line));
  }
  return out;
}

// 0, or the status for what was passed.
int report(const files::path& folder, const TraceOptions& options) {
  const std::vector<tracing::ProcessTrace> traces = tracing::read_traces(folder.string());
  const tracing::TraceReport found = tracing::make_report(traces);
  std::cerr << found.to_text();
  const std::vector<std::string> passed = excesses(options, found);
  for (const std::string& line : passed) std::cerr << text("tutti: too many waits: ", line, "\n");
  if (files::is_directory(folder)) {
    try {
      write(folder / "report.json", found.to_json());
      write(folder / "timeline.json", tracing::to_timeline(found, traces));
      write(folder / "report.html", tracing::to_page(found, traces));
      std::cerr << text("tutti: report.html, report.json and timeline.json are in ", folder.string(), "\n");
    } catch (const std::exception& error) {  // somebody else's folder, perhaps: the report was given
      std::cerr << text("tutti: warning: ", error.what(), "\n");
    }
  }
  return passed.empty() ? 0 : too_many;
}

}  // namespace

int trace_program(const TraceOptions& options) {
  const files::path recorder = find_recorder();
  if (const char* other = std::getenv(injection_variable); other != nullptr && *other != '\0' && recorder != other) {
    std::cerr << paragraph(text("tutti trace: the program runs untraced: ", injection_variable, " is set to ", printable(other),
                                ", and the driver loads one such library into a program. Unset it to trace."));
    return run_to_its_end(options.command);
  }
  if (!options.baseline.empty()) (void)read_baseline(options.baseline);  // before the program runs for an hour
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
    return status;
  }
  const int judged = report(folder, options);
  return status != 0 ? status : judged;
}

int report_trace(const TraceOptions& options) { return report(options.read, options); }

int compare_traces(const TraceOptions& options) {
  const std::vector<tracing::ProcessTrace> traces = tracing::read_traces(options.compare[0]);
  const tracing::TraceReport before = tracing::make_report(traces);
  const tracing::TraceReport after = tracing::make_report(tracing::read_traces(options.compare[1]));
  const tracing::TraceComparison found = tracing::compare(before, after, traces);
  std::cout << (options.as_json ? found.to_json() : found.to_text());
  return 0;
}

}  // namespace tutti::tools
