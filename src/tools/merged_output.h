// The output of many ranks as one: whole lines, each with its rank in front.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::tools {

// Lines of two ranks never mix. The beginning of a line whose rest does not come is shown after a moment, and if another rank
// then has something to say, the line is ended first. A line longer than a mebibyte is passed on in parts; nobody else gets in
// between.
class MergedOutput {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds moment{100};

  explicit MergedOutput(int descriptor) : descriptor_(descriptor) {}

  // Returns the number by which the source is named below.
  std::size_t add_source(std::string prefix);
  void take(std::size_t source, std::string_view bytes, Time now);
  // Nothing more will come from it; its last line is ended if it was not.
  void end(std::size_t source, Time now);
  // A line of the launcher's own, at once.
  void say(std::string_view line);
  // Shows beginnings of lines that have waited for a moment, and what waited for those.
  void show_due(Time now);
  // When show_due() will have something to do.
  [[nodiscard]] std::optional<Time> next() const;
  // Everything that is left.
  void finish();

  // So much waits to be written, of all or of this source, that no more should be taken.
  [[nodiscard]] bool is_full() const noexcept;
  [[nodiscard]] bool is_full(std::size_t source) const noexcept;
  [[nodiscard]] bool has_bytes() const noexcept { return written_ < queue_.size(); }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  // Writes a part that a pipe which is ready takes without blocking. False: it cannot be written (errno says why) and is dropped,
  // as is everything later.
  bool write_some();
  [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }

 private:
  struct Source {
    std::string prefix;
    std::string pending;
    Time last = {};
    bool has_ended = false;
  };

  [[nodiscard]] bool may_speak(std::size_t source, Time now) const;
  void show(std::size_t source, std::string_view bytes);
  void show_lines(std::size_t source, Time now);
  void end_open_line();

  int descriptor_;
  std::vector<Source> sources_;
  std::optional<std::size_t> open_;  // whose line stands unfinished at the end of the output
  std::string queue_;
  std::size_t written_ = 0;
  bool is_broken_ = false;
};

}  // namespace tutti::tools
