// What ranks leave for the driver, so that a rank that was killed has left it too.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tutti::soak {

using Instant = std::chrono::steady_clock::time_point;  // the same clock in every process

inline std::int64_t ticks(Instant at) { return at.time_since_epoch().count(); }
inline Instant instant(std::int64_t ticks) { return Instant(Instant::duration(ticks)); }

// How a call ended.
enum class Outcome : std::uint8_t {
  done,
  timed_out,
  lost,              // a member
  mismatch,          // never right: all do the same
  deadlock,          // never right: all follow one order
  aborted,           // never right: nobody aborts
  coordinator_late,  // can be tried again
  coordinator_gone,
  exchange_failed,
  wrong_value,
  unexpected,
};
inline constexpr std::size_t outcome_count = 11;
inline constexpr std::array<const char*, outcome_count> outcome_words{
    "done",      "timed out",        "lost a member",    "mismatch",        "deadlock",
    "aborted",   "coordinator late", "coordinator gone", "exchange failed", "wrong value",
    "unexpected"};

struct Missing {
  int rank = 0;
  int why = 0;  // a MissingMember::Why
};

// A call that has ended.
struct Entry {
  int rank = 0;
  std::int64_t step = 0;
  Instant begin;
  Instant end;
  Outcome outcome = Outcome::done;
  bool is_own_report = true;  // it names what was asked
  std::vector<Missing> missing;
  std::string text;
};

// One line, and back.
std::string written(const Entry& entry);
std::vector<Entry> entries_in(const std::string& lines);

inline constexpr std::size_t most_ranks = 8;

// Where a rank is, in memory it shares with the driver.
struct Seat {
  std::atomic<std::int64_t> step;  // that it is at, or waits for
  // By rank: when its last call of a gathering began that was told that one is gone, in ticks; 0: none was.
  std::array<std::atomic<std::int64_t>, most_ranks> told_gone;
  std::atomic<std::int64_t> call_began;  // in ticks; 0: in none
  std::atomic<std::int64_t> call_limit;  // in ticks
  std::atomic<bool> is_to_exit;          // at its next step, in the middle of it
};

struct Board {
  std::array<Seat, most_ranks> seats;
  std::atomic<std::int64_t> allowed;  // steps below this may be begun
  std::atomic<bool> is_over;          // `allowed` does not rise any more
};

}  // namespace tutti::soak
