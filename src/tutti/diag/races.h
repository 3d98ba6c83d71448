// The race detector: finds accesses to the same bytes that nothing orders, whether or not they went wrong this time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/site.h"
#include "tutti/hal/point.h"

namespace tutti {

// Thrown at the call that would have raced; its work was not submitted and everything stays usable.
struct RaceDetected : InvalidState {
  using InvalidState::InvalidState;
};

enum class RaceDetection : std::uint8_t {
  off,
  report,  // a warning in the log for each distinct pair of calls
  error,   // RaceDetected at the later of the two calls
};

// Of the process, which starts with what TUTTI_RACES says: off, report or error. Switching it on forgets what was seen before;
// work submitted while it is off is unknown to it.
void set_race_detection(RaceDetection mode);
RaceDetection get_race_detection() noexcept;

struct RaceAccess {
  std::string op;
  std::string device;
  TimelinePoint point;  // of work done by a calling thread: what it would have got on the stream it stood in for
  bool is_write = false;
  bool is_by_host = false;
  Site site;
};

struct Race {
  RaceAccess earlier;  // as submitted
  RaceAccess later;
  std::size_t first = 0;  // the bytes both use, counted from the start of the later one's allocation
  std::size_t last = 0;   // one past the end
  std::size_t allocated_bytes = 0;
  Site allocated;
  // The memory was let go and handed out again between the two; it was allocated here for the earlier one.
  bool is_reuse = false;
  Site allocated_before;
  std::uint64_t waited_until = 0;  // the work of the earlier one's stream that the later one does come after; 0: none
  std::uint64_t times = 1;
};

// As it is logged: both accesses, the bytes, what is missing and how to add it.
std::string to_string(const Race& race);

struct RaceFigures {
  std::uint64_t found = 0;      // all of them
  std::uint64_t distinct = 0;   // pairs of calls
  std::uint64_t unlisted = 0;   // found, but not kept: the list was full
  std::uint64_t forgotten = 0;  // accesses and waits dropped to bound memory; races with them are not found
  std::uint64_t ranges = 0;     // of memory that are watched now
};

// The distinct races since detection was switched on or they were cleared, oldest first.
std::vector<Race> races();
RaceFigures race_figures();
void clear_races();

// The detector does not see the program's own loads and stores in memory it lent (wrap_host_memory). These tell it: the bytes
// are about to be written or read by the calling thread.
void about_to_write(const void* bytes, std::size_t count, Site site = {});
void about_to_read(const void* bytes, std::size_t count, Site site = {});

}  // namespace tutti
