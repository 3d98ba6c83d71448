#include "tutti/diag/race_detector.h"

#include <algorithm>
#include <new>
#include <utility>

#include "tutti/base/environment.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/hal/device.h"
#include "tutti/hal/lifecycle.h"
#include "tutti/hal/timeline.h"

namespace tutti {

namespace {

constexpr std::size_t most_listed = 256;

// Races found while an order lock was held, to be logged when it is not.
thread_local std::vector<Race> unspoken;

bool is_same_pair(const Race& a, const Race& b) {
  return a.earlier.site == b.earlier.site && a.later.site == b.later.site && a.earlier.op == b.earlier.op &&
         a.later.op == b.later.op && a.earlier.is_write == b.earlier.is_write && a.later.is_write == b.later.is_write &&
         a.is_reuse == b.is_reuse;
}

}  // namespace

RaceDetector& RaceDetector::instance() {
  static RaceDetector& detector = *new RaceDetector;
  return detector;
}

void RaceDetector::set_mode(RaceDetection mode) {
  const std::lock_guard lock(mutex_);
  const RaceDetection before = mode_.exchange(mode);
  if (mode == RaceDetection::off) return set_access_observer(nullptr);
  if (before != RaceDetection::off) return;
  order_ = {};
  memory_ = {};
  races_.clear();
  found_ = unlisted_ = 0;
  unnoticed_ = 0;
  set_access_observer(this);
}

Race RaceDetector::make_race(const PastAccess& past, const AccessingWork& work, const MemoryUse& use, By by, Address from,
                             Address to) const {
  Race out;
  out.earlier = {past.op, past.device->name(), past.point, past.use.is_write, false, past.site};
  out.later = {work.op, work.device != nullptr ? work.device->name() : "", work.point, use.is_write, by != By::stream, work.site};
  out.first = from - reinterpret_cast<Address>(use.allocation);
  out.last = to - reinterpret_cast<Address>(use.allocation);
  out.allocated_bytes = use.allocated_bytes;
  out.allocated = use.allocated;
  out.is_reuse = past.is_of_earlier_owner;
  out.allocated_before = past.use.allocated;
  if (by == By::program) {  // it lent the memory; where, the earlier use knows
    out.allocated = past.use.allocated;
    out.allocated_bytes = past.use.allocated_bytes;
    out.first = from - reinterpret_cast<Address>(past.use.allocation);
    out.last = to - reinterpret_cast<Address>(past.use.allocation);
  }
  out.waited_until = order_.known_until(past.point.stream, work.point.stream);
  return out;
}

std::vector<Race> RaceDetector::look_for_races(const AccessingWork& work, By by) {
  std::vector<Race> out;
  for (const MemoryUse& use : work.uses) {
    memory_.visit(use, [&](const PastAccess& past, Address from, Address to) {
      if (!past.use.is_write && !use.is_write) return;
      if (order_.is_ordered(past.point, work.point.stream) || !meet(past.use, use, from, to)) return;
      // Where the runtime orders it looked: what was done by then got no edge because it needs none.
      if (use.is_ordered && is_done(past.point)) return order_.order(work.point, past.point);
      const auto same = std::find_if(out.begin(), out.end(), [&](const Race& race) { return race.earlier.point == past.point; });
      if (same == out.end()) {
        out.push_back(make_race(past, work, use, by, from, to));
      } else if (const Address start = reinterpret_cast<Address>(use.allocation); same->last == from - start) {
        same->last = to - start;
      }
    });
  }
  return out;
}

std::vector<Race> RaceDetector::keep(std::vector<Race> found) {
  std::vector<Race> fresh;
  for (Race& race : found) {
    ++found_;
    const auto known = std::find_if(races_.begin(), races_.end(), [&](const Race& r) { return is_same_pair(r, race); });
    if (known != races_.end()) {
      ++known->times;
    } else if (races_.size() < most_listed) {
      fresh.push_back(race);
      races_.push_back(std::move(race));
    } else {
      ++unlisted_;
    }
  }
  return fresh;
}

void RaceDetector::judge(const AccessingWork& work, By by, bool is_speaking) {
  if (is_forked()) return;  // the lock may be held by a thread that is not here
  std::string complaint;
  {
    const std::lock_guard lock(mutex_);
    if (mode() == RaceDetection::off) return;
    for (const TimelinePoint& producer : work.after) order_.order(work.point, producer);
    std::vector<Race> found = look_for_races(work, by);
    if (!found.empty() && mode() == RaceDetection::error) {
      complaint = to_string(found.front());
      (void)keep(std::move(found));
    } else {
      // Reported once, and from then on taken as ordered: one mistake is one report.
      for (const Race& race : found) order_.order(work.point, race.earlier.point);
      for (const MemoryUse& use : work.uses) {
        if (use.bytes == 0) continue;
        if (by == By::stream) {
          memory_.record({work.point, work.op, work.device, work.site, use, false}, order_);
        } else if (use.is_write && use.run == use.bytes) {
          // Done before anything else is submitted, and after all that used the bytes.
          memory_.clear(reinterpret_cast<Address>(use.begin), reinterpret_cast<Address>(use.begin) + use.bytes);
        }
      }
      if (!found.empty()) {
        for (Race& race : keep(std::move(found))) unspoken.push_back(std::move(race));
      }
    }
  }
  if (!complaint.empty()) throw RaceDetected(complaint, work.site);
  if (is_speaking && !unspoken.empty()) speak();
}

bool RaceDetector::before_submit(const AccessingWork& work) {
  judge(work, By::stream, false);
  return !unspoken.empty();
}

void RaceDetector::before_run(const AccessingWork& work) { judge(work, By::calling_thread, true); }

void RaceDetector::host_uses(const std::byte* begin, std::size_t bytes, bool is_write, Site site) {
  const MemoryUse use{.begin = begin,
                      .bytes = bytes,
                      .run = bytes,
                      .is_write = is_write,
                      .is_ordered = false,
                      .allocation = begin,
                      .allocated_bytes = bytes,
                      .allocated = site};
  judge({.op = "the program", .site = site, .point = {}, .uses = std::span(&use, 1)}, By::program, true);
}

void RaceDetector::speak() {
  const std::vector<Race> mine = std::exchange(unspoken, {});
  const std::uint64_t forgotten = figures().forgotten;
  for (const Race& race : mine) {
    log(LogLevel::warning,
        text(to_string(race), forgotten == 0 ? "" : text("\n  ", forgotten, " older accesses were forgotten to bound memory")));
  }
}

void RaceDetector::host_knows(std::span<const TimelinePoint> points) noexcept try {
  if (is_forked()) return;
  const std::lock_guard lock(mutex_);
  for (const TimelinePoint& point : points) order_.host_learns(point);
} catch (const std::bad_alloc&) {
  ++unnoticed_;
}

void RaceDetector::handed_out(const std::byte* begin, std::size_t bytes, bool is_unused) noexcept try {
  if (is_forked() || bytes == 0) return;
  const std::lock_guard lock(mutex_);
  const auto from = reinterpret_cast<Address>(begin);
  is_unused ? memory_.clear(from, from + bytes) : memory_.begin_life(from, from + bytes);
} catch (const std::bad_alloc&) {
  ++unnoticed_;
}

std::vector<Race> RaceDetector::races() const {
  const std::lock_guard lock(mutex_);
  return races_;
}

RaceFigures RaceDetector::figures() const {
  const std::lock_guard lock(mutex_);
  return {.found = found_,
          .distinct = races_.size(),
          .unlisted = unlisted_,
          .forgotten = memory_.forgotten() + order_.forgotten() + unnoticed_,
          .ranges = memory_.size()};
}

void RaceDetector::clear_races() {
  const std::lock_guard lock(mutex_);
  races_.clear();
  found_ = unlisted_ = 0;
}

namespace {

[[maybe_unused]] const bool watch_was_asked_for = [] {
  const std::optional<std::string> word = environment_text("TUTTI_RACES");
  if (!word || *word == "off") return false;
  if (*word == "report" || *word == "error") {
    set_race_detection(*word == "report" ? RaceDetection::report : RaceDetection::error);
    return true;
  }
  log(LogLevel::warning, text("TUTTI_RACES=", printable(*word), " is ignored: it takes off, report or error"));
  return false;
}();

}  // namespace

}  // namespace tutti
