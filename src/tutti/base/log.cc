#include "tutti/base/log.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <utility>

namespace tutti {

namespace {

std::atomic<LogLevel> current_level{LogLevel::info};

struct Sink {
  std::mutex mutex;
  LogSink write;
};

// Leaked on purpose: a static object of the user's may log while it is destroyed.
Sink& sink() {
  static Sink& instance = *new Sink;
  return instance;
}

}  // namespace

void set_log_level(LogLevel level) noexcept { current_level.store(level, std::memory_order_relaxed); }
LogLevel log_level() noexcept { return current_level.load(std::memory_order_relaxed); }

void set_log_sink(LogSink write) {
  const std::lock_guard lock(sink().mutex);
  sink().write = std::move(write);
}

namespace {

void write(LogLevel level, std::string_view line) noexcept {
  const std::lock_guard lock(sink().mutex);
  if (sink().write) {
    try {
      sink().write(level, line);
      return;
    } catch (...) {
      std::fputs("tutti: the log sink threw; this line goes to stderr\n", stderr);
    }
  }
  const char* mark = level == LogLevel::warning ? "tutti: warning: " : level == LogLevel::error ? "tutti: error: " : "";
  std::fprintf(stderr, "%s%.*s\n", mark, static_cast<int>(line.size()), line.data());
}

}  // namespace

void log(LogLevel level, std::string_view line) noexcept {
  if (level >= log_level() && level != LogLevel::off) write(level, line);
}

void log_requested(std::string_view line) noexcept { write(LogLevel::info, line); }

}  // namespace tutti
