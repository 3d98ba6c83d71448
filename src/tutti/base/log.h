// Messages to the user: levels, one sink, stderr by default.
#pragma once

#include <functional>
#include <string_view>

namespace tutti {

enum class LogLevel : unsigned char { debug, info, warning, error, off };

// Receives whole lines without the newline. Called under a lock: it must not log.
using LogSink = std::function<void(LogLevel, std::string_view)>;

void set_log_level(LogLevel level) noexcept;
LogLevel log_level() noexcept;
// An empty sink restores stderr.
void set_log_sink(LogSink sink);

void log(LogLevel level, std::string_view line) noexcept;
// A line the user asked for by name (a placement log): the level does not hide it.
void log_requested(std::string_view line) noexcept;

}  // namespace tutti
