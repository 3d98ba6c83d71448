#include "tutti/diag/races.h"

#include "tutti/base/text.h"
#include "tutti/diag/race_detector.h"

namespace tutti {

namespace {

std::string stream_of(const RaceAccess& access) { return text("stream ", index_of(access.point.stream)); }

// "read by AddV2, work 2 of stream 4 on /job:localhost/replica:0/task:0/device:GPU:0, at main.cc:25"
std::string line_of(const RaceAccess& access) {
  const std::string what = text(access.is_write ? "write by " : "read by ", access.op);
  if (access.is_by_host && access.device.empty()) return text(what, " itself, at ", access.site.to_string());
  if (access.is_by_host) {
    return text(what, ", run by the calling thread in place of ", stream_of(access), " on ", access.device, ", at ",
                access.site.to_string());
  }
  return text(what, ", work ", access.point.value, " of ", stream_of(access), " on ", access.device, ", at ",
              access.site.to_string());
}

std::string missing_edge(const Race& race) {
  const RaceAccess& earlier = race.earlier;
  const RaceAccess& later = race.later;
  if (later.is_by_host && later.device.empty()) {
    return text("the host does not know that ", earlier.op, " is done. Call sync() on an Event recorded after ", earlier.op,
                ", or on ", stream_of(earlier), ", before the memory is touched.");
  }
  std::string out = text(stream_of(later), " does not wait for ", stream_of(earlier));
  if (race.waited_until != 0) {
    out = text(stream_of(later), " waits for ", stream_of(earlier), " up to its work ", race.waited_until,
               " only: the Event was recorded before ", earlier.op, " was submitted");
  }
  return text(out, ". Record an Event on ", stream_of(earlier), " after ", earlier.op, " and call Stream::wait(event) on ",
              stream_of(later), " before ", later.op, race.is_reuse ? " is called." : ".");
}

}  // namespace

std::string to_string(const Race& race) {
  std::string out =
      text("race on bytes ", race.first, " to ", race.last, " of the ", race.allocated_bytes, " allocated at ",
           race.allocated.to_string(), "\n  earlier: ", line_of(race.earlier), "\n  later:   ", line_of(race.later));
  if (race.is_reuse) {
    out += text("\n  the memory was let go and handed out again in between; before, it was allocated at ",
                race.allocated_before.to_string());
  }
  return text(out, "\n  ", missing_edge(race));
}

void set_race_detection(RaceDetection mode) { RaceDetector::instance().set_mode(mode); }
RaceDetection get_race_detection() noexcept { return RaceDetector::instance().mode(); }

std::vector<Race> races() { return RaceDetector::instance().races(); }
RaceFigures race_figures() { return RaceDetector::instance().figures(); }
void clear_races() { RaceDetector::instance().clear_races(); }

void about_to_write(const void* bytes, std::size_t count, Site site) {
  if (access_observer() != nullptr) RaceDetector::instance().host_uses(static_cast<const std::byte*>(bytes), count, true, site);
}

void about_to_read(const void* bytes, std::size_t count, Site site) {
  if (access_observer() != nullptr) RaceDetector::instance().host_uses(static_cast<const std::byte*>(bytes), count, false, site);
}

}  // namespace tutti
