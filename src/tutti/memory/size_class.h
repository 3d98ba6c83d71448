// Sizes as the pool sees them: units of 256 bytes, sorted into classes that are never more than 1/16 apart.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tutti::size_class {

inline constexpr std::size_t unit = 256;  // every address handed out is a multiple of it
inline constexpr unsigned steps_log2 = 4;
inline constexpr unsigned steps = 1U << steps_log2;  // classes per power of two

inline constexpr std::size_t most_bytes = std::size_t{1} << 47U;  // more than any address space has
inline constexpr std::uint64_t quick_units = 4096;                // up to 1 MiB every block of a class has the same size

// The class whose smallest size is at most `units`.
constexpr unsigned of(std::uint64_t units) noexcept {
  if (units < steps) return static_cast<unsigned>(units);
  const auto log2 = static_cast<unsigned>(std::bit_width(units)) - 1;
  return (log2 - steps_log2 + 1) * steps + (static_cast<unsigned>(units >> (log2 - steps_log2)) & (steps - 1));
}

// The next size at which a class begins.
constexpr std::uint64_t round_up(std::uint64_t units) noexcept {
  if (units < 2 * steps) return units;
  const auto shift = static_cast<unsigned>(std::bit_width(units)) - 1 - steps_log2;
  const std::uint64_t mask = (std::uint64_t{1} << shift) - 1;
  return (units + mask) & ~mask;
}

// What a request is served with: small ones get the size of their class, so that any block of it will do; large ones
// are not padded, since a sixteenth of a large one is much.
constexpr std::uint64_t units_for(std::size_t bytes) noexcept {
  const std::uint64_t units = bytes == 0 ? 1 : (bytes + unit - 1) / unit;
  return units <= quick_units ? round_up(units) : units;
}

constexpr std::uint64_t bytes_for(std::size_t bytes) noexcept { return bytes > most_bytes ? bytes : units_for(bytes) * unit; }

inline constexpr unsigned quick_count = of(quick_units) + 1;
inline constexpr unsigned count = of(most_bytes / unit) + 1;
inline constexpr unsigned rows = (count + steps - 1) / steps;
static_assert(of(15) == 15 && of(16) == 16 && of(31) == 31 && of(32) == 32 && of(33) == 32 && rows <= 64);

}  // namespace tutti::size_class
