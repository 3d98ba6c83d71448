#include "tutti/train/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>

#include "tutti/base/human_time.h"
#include "tutti/base/text.h"

namespace tutti {

namespace {

std::string digits(double value, int precision) {
  char out[32];
  const auto end = std::to_chars(out, out + sizeof out, value, std::chars_format::general, precision).ptr;
  return {out, end};
}

// "0:07", "12:30", "1:02:03"
std::string clock_text(double seconds) {
  const auto all = static_cast<std::int64_t>(std::min(std::ceil(seconds), 359999.0));
  const auto two = [](std::int64_t number) { return text(number < 10 ? "0" : "", number); };
  if (all < 3600) return text(all / 60, ":", two(all % 60));
  return text(all / 3600, ":", two(all / 60 % 60), ":", two(all % 60));
}

std::string epoch_of(const ProgressState& state) { return text("Epoch ", state.epoch + 1, "/", state.epochs); }

constexpr std::size_t widest_bar = 30;
constexpr std::size_t narrowest_bar = 5;
constexpr double shortest_pace = 0.1;  // a second's tenth: of less time a pace tells nothing

}  // namespace

std::string bar_text(const ProgressState& state, std::size_t columns) {
  const std::string head = epoch_of(state);
  const std::string count = text(" ", state.step, "/", state.steps);
  std::string pace;
  if (state.timed > 0 && state.seconds >= shortest_pace) {
    const double rate = static_cast<double>(state.timed) / state.seconds;
    const std::string number = rate < 1000 ? digits(rate, 3) : text(static_cast<std::int64_t>(rate));
    pace = text("  ", number, " steps/s ", clock_text(static_cast<double>(state.steps - state.step) / rate), " left");
  }
  std::string values;
  for (const auto& [name, value] : state.values) {
    std::string next = text(values.empty() ? "  " : " ", name, " ", digits(value, 4));
    if (head.size() + count.size() + values.size() + next.size() + pace.size() > columns) break;
    values += next;
  }
  const std::size_t used = head.size() + count.size() + values.size() + pace.size();
  std::string bar;
  if (used + narrowest_bar + 3 <= columns) {
    const std::size_t width = std::min(widest_bar, columns - used - 3);
    const auto filled = static_cast<std::size_t>(static_cast<double>(width) * static_cast<double>(state.step) /
                                                 static_cast<double>(std::max<std::int64_t>(1, state.steps)));
    bar = " [" + std::string(filled, '=') + std::string(filled < width ? 1 : 0, '>') +
          std::string(filled < width ? width - filled - 1 : 0, ' ') + "]";
  }
  return (head + bar + count + values + pace).substr(0, columns);
}

std::string epoch_text(const ProgressState& state) {
  std::string out = epoch_of(state) + ":";
  for (const auto& [name, value] : state.values) out += text(out.back() == ':' ? " " : ", ", name, " ", digits(value, 4));
  return out + text("; ", state.timed, state.timed == 1 ? " step in " : " steps in ",
                    human_time(static_cast<Nanoseconds>(state.seconds * 1e9)));
}

Progress::Progress(std::ostream& out, Verbosity verbosity, std::size_t columns)
    : out_(out),
      has_bar_(verbosity == Verbosity::bar),
      has_lines_(verbosity == Verbosity::bar || verbosity == Verbosity::lines),
      columns_(columns) {}

Progress::~Progress() {
  if (is_drawn_) out_ << '\n' << std::flush;
}

void Progress::draw(const ProgressState& state, Clock::time_point now) {
  // One column less: a full line makes some terminals begin another.
  out_ << '\r' << bar_text(state, columns_ - 1) << "\x1b[K" << std::flush;
  is_drawn_ = true;
  next_ = now + apart;
}

void Progress::tell(const ProgressState& state) {
  if (!has_lines_) return;
  make_room();
  out_ << epoch_text(state) << '\n' << std::flush;
}

void Progress::make_room() {
  if (is_drawn_) out_ << "\r\x1b[K" << std::flush;
  is_drawn_ = false;
}

Verbosity usual_verbosity(const std::ostream& out) {
  return &out == &std::cout && isatty(STDOUT_FILENO) == 1 ? Verbosity::bar : Verbosity::lines;
}

std::size_t usual_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return std::clamp<std::size_t>(size.ws_col, 20, 80);
}

}  // namespace tutti
