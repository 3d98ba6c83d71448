#include "tutti/trace/recorder/python_lines.h"

namespace tutti::tracing {

namespace {

PythonPosition on_line(std::int64_t line) noexcept {
  if (line <= 0 || line > 0x7fffffff) return {};
  return {static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(line), 0, 0};
}

// 3.9: pairs of how far the instruction and the line move.
PythonPosition by_increments(std::span<const std::uint8_t> table, std::int64_t line, std::int64_t at) noexcept {
  std::int64_t address = 0;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    address += table[i];
    if (address > at) break;
    line += static_cast<std::int8_t>(table[i + 1]);
  }
  return on_line(line);
}

// 3.10: pairs of how long a range is and how far its line moves; -128: it has none.
PythonPosition by_ranges(std::span<const std::uint8_t> table, std::int64_t line, std::int64_t at) noexcept {
  std::int64_t end = 0;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    const auto moved = static_cast<std::int8_t>(table[i + 1]);
    const bool has_line = moved != -128;
    if (has_line) line += moved;
    end += table[i];
    if (at < end) return has_line ? on_line(line) : PythonPosition{};
  }
  return {};
}

struct Varints {
  std::span<const std::uint8_t> table;
  std::size_t next;

  std::uint8_t byte() noexcept { return next < table.size() ? table[next++] : 0; }
  std::uint32_t number() noexcept {
    std::uint32_t out = 0;
    for (unsigned shift = 0; shift < 30; shift += 6) {
      const std::uint8_t part = byte();
      out |= static_cast<std::uint32_t>(part & 63U) << shift;
      if ((part & 64U) == 0) break;
    }
    return out;
  }
  std::int64_t signed_number() noexcept {
    const std::uint32_t out = number();
    return (out & 1U) != 0 ? -static_cast<std::int64_t>(out >> 1U) : static_cast<std::int64_t>(out >> 1U);
  }
};

// 3.11 and later: entries of one form or another, each for one to eight instructions of two bytes.
PythonPosition by_entries(std::span<const std::uint8_t> table, std::int64_t line, std::int64_t at) noexcept {
  constexpr unsigned one_line = 10;
  constexpr unsigned no_column = 13;
  constexpr unsigned in_full = 14;
  constexpr unsigned no_position = 15;
  Varints in{table, 0};
  std::int64_t end = 0;
  while (in.next < table.size()) {
    const unsigned head = in.byte();
    const unsigned form = (head >> 3U) & 15U;
    end += 2 * ((head & 7U) + 1);
    PythonPosition found;
    if (form == in_full) {
      line += in.signed_number();
      found = on_line(line);
      found.end_line += in.number();
      found.column = in.number();
      found.end_column = in.number();
    } else if (form == no_column) {
      line += in.signed_number();
      found = on_line(line);
    } else if (form >= one_line && form < no_column) {
      line += form - one_line;
      found = on_line(line);
      found.column = in.byte() + 1U;
      found.end_column = in.byte() + 1U;
    } else if (form != no_position) {
      const unsigned columns = in.byte();
      found = on_line(line);
      found.column = form * 8 + ((columns >> 4U) & 7U) + 1;
      found.end_column = found.column + (columns & 15U);
    }
    if (at < end) return found.line == 0 ? PythonPosition{} : found;
  }
  return {};
}

}  // namespace

PythonPosition python_position(int minor, std::span<const std::uint8_t> table, std::uint32_t first_line,
                               std::int64_t at) noexcept {
  if (minor <= 9) return by_increments(table, first_line, at);
  if (minor == 10) return by_ranges(table, first_line, at);
  return by_entries(table, first_line, at);
}

}  // namespace tutti::tracing
