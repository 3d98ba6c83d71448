// What the library says while it lives, line by line.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "tutti/base/log.h"

namespace tutti {

class CapturedLog {
 public:
  struct Line {
    LogLevel level;
    std::string text;
  };
  CapturedLog() {
    set_log_sink([this](LogLevel level, std::string_view line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back({level, std::string(line)});
    });
  }
  ~CapturedLog() { set_log_sink({}); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  [[nodiscard]] std::vector<std::string> texts() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const Line& line : lines_) out.push_back(line.text);
    return out;
  }
  [[nodiscard]] std::vector<std::string> of(LogLevel level) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const Line& line : lines_) {
      if (line.level == level) out.push_back(line.text);
    }
    return out;
  }
  [[nodiscard]] std::size_t count(std::string_view part) const {
    const std::vector<std::string> all = texts();
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](const std::string& line) { return line.find(part) != std::string::npos; }));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Line> lines_;
};

}  // namespace tutti
