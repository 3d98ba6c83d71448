// What the driver calls when a program begins to use CUDA (CUDA_INJECTION64_PATH names this library).
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "tutti/trace/recorder/recorder.h"
#include "tutti/trace/recorder/sleeps.h"

namespace tutti::tracing {

namespace {

constexpr std::size_t most_command = 1U << 16;
constexpr std::uint64_t fewest_kib = 16;

// "waits,64:/folder"
struct Asked {
  bool records_work = false;
  std::uint64_t most_kib = most_file_bytes >> 10U;
  std::string folder;
};

std::optional<Asked> asked_for() {
  const char* const value = std::getenv(recorder_variable);
  if (value == nullptr) return std::nullopt;  // some other program's use of the library
  const std::string_view words = value;
  const std::size_t colon = words.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view what = words.substr(0, colon);
  const std::size_t comma = what.find(',');
  Asked out{what.substr(0, comma) == "work", most_file_bytes >> 10U, std::string(words.substr(colon + 1))};
  if (comma != std::string_view::npos) {
    std::uint64_t kib = 0;
    const auto [end, error] = std::from_chars(what.data() + comma + 1, what.data() + what.size(), kib);
    if (error == std::errc()) out.most_kib = std::min(std::max(kib, fewest_kib), out.most_kib);
  }
  return out;
}

void say(const std::string& words) {
  const std::string line = "tutti trace: process " + std::to_string(::getpid()) + ": " + words + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

std::string command_line() {
  std::string out;
  const int file = ::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return out;
  std::array<char, 4096> part;
  for (ssize_t read = 0; out.size() < most_command && (read = ::read(file, part.data(), part.size())) > 0;)
    out.append(part.data(), static_cast<std::size_t>(read));
  ::close(file);
  return out;
}

void begin() {
  const std::optional<Asked> asked = asked_for();
  if (!asked) return;
  Recorder& all = recorder();
  if (!all.output.open(asked->folder, asked->most_kib << 10U)) {
    say("runs untraced: no file can be made in " + asked->folder);
    return;
  }
  if (void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD))
    ask_pointer = reinterpret_cast<decltype(ask_pointer)>(::dlsym(driver, "cuPointerGetAttribute"));
  std::string why_not = all.cupti.open();
  all.stacks.python().find();
  all.begin_process(command_line(), asked->records_work, static_cast<std::uint32_t>(asked->most_kib));
  if (!all.stacks.python().why_not().empty()) all.output.note(all.stacks.python().why_not());
  if (why_not.empty()) why_not = all.subscribe();
  if (!why_not.empty()) {
    all.output.note(untraced + why_not);
    say("runs untraced: " + why_not);
    all.output.forget();
    return;
  }
  if (asked->records_work) {
    if (const std::string missing = all.record_work(); !missing.empty()) {
      all.output.note(missing);
      say(missing);
    }
  }
  Recorder::listen_at_door();
  watch_sleeps();
  // CUDA does not work in a forked child; what it executes is a process of its own.
  ::pthread_atfork(nullptr, nullptr, [] {
    leave_sleeps_alone();
    recorder().output.forget();
  });
  std::atexit([] { recorder().end_process(); });
}

}  // namespace

void Recorder::begin_process(const std::string& command, bool records_work, std::uint32_t most_kib) {
  ProcessBody process{};
  process.begin = now();
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  process.realtime = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(time.tv_nsec);
  process.pid = static_cast<std::uint32_t>(::getpid());
  process.parent = static_cast<std::uint32_t>(::getppid());
  if (cupti.get_version != nullptr) cupti.get_version(&process.cupti_version);
  process.most_kib = most_kib;
  process.python = output.text(stacks.python().version());
  process.records_work = records_work ? 1 : 0;
  output.append(RecordKind::process, &process, sizeof process, command.data(), command.size());
}

void Recorder::end_process() {
  if (!output.is_open()) return;
  end_work();
  if (host_callbacks != 0) {
    if (const std::string why = why_no_sleeps(); !why.empty()) output.note(why);
  }
  if (unkept_work != 0)
    output.note(std::to_string(unkept_work) + " records of what the GPU did are missing: there was no room for them");
  output.append(RecordKind::end, EndBody{now(), seen.load(), unkept.load()});
}

}  // namespace tutti::tracing

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  static std::atomic<bool> is_begun{false};
  if (!is_begun.exchange(true)) {
    try {
      tutti::tracing::begin();
    } catch (...) {
      // The program runs untraced rather than not at all.
    }
  }
  return 1;
}
