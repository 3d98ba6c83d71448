#include "tutti/diag/lanes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "tutti/base/text.h"

namespace tutti::detail {

namespace {

using journal::Event;
using journal::EventKind;

bool is_drawn(const Event& event) {
  switch (event.kind) {
    case EventKind::enqueue:
    case EventKind::run:
    case EventKind::sync:
    case EventKind::throttle:
    case EventKind::scope:
    case EventKind::roll_call:
    case EventKind::exchange: return true;
    default: return false;
  }
}

bool is_sync(const Event& event) { return event.kind == EventKind::sync || event.kind == EventKind::throttle; }

// The first row that is free by then: what lies within another bar comes below it.
void assign_rows(Lane& lane) {
  std::stable_sort(lane.bars.begin(), lane.bars.end(), [](const Bar& a, const Bar& b) {
    return std::pair(a.event->begin, -a.event->end) < std::pair(b.event->begin, -b.event->end);
  });
  std::vector<Nanoseconds> free_from;
  for (Bar& bar : lane.bars) {
    const auto row = std::find_if(free_from.begin(), free_from.end(), [&](Nanoseconds time) { return time <= bar.event->begin; });
    bar.row = static_cast<std::size_t>(row - free_from.begin());
    if (row == free_from.end()) {
      free_from.push_back(bar.event->end);
    } else {
      *row = bar.event->end;
    }
  }
  lane.rows = free_from.size();
}

// Sites of the ledger by what an event says of itself.
class SiteIndex {
 public:
  explicit SiteIndex(const SyncReport& report) {
    for (std::size_t i = 0; i < report.sites.size(); ++i)
      known_.emplace(key(report.sites[i].totals.site, to_string(report.sites[i].totals.reason)), i);
  }
  [[nodiscard]] std::optional<std::size_t> find(const Event& event) const {
    const auto found = known_.find(key(event.site, event.name));
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::string_view, std::string_view>;
  static Key key(Site site, const char* reason) { return {site.line(), site.column(), site.file(), reason}; }
  std::map<Key, std::size_t> known_;
};

struct Run {
  std::uint64_t value;
  std::size_t bar;
};

// A stream runs its work in order of its points, so each is found by halving.
void tie_syncs(Lanes& all) {
  std::map<std::uint64_t, std::pair<std::size_t, std::vector<Run>>> streams;
  for (std::size_t lane = 0; lane < all.lanes.size(); ++lane) {
    if (!all.lanes[lane].is_stream) continue;
    auto& [where, runs] = streams[all.lanes[lane].id];
    where = lane;
    for (std::size_t bar = 0; bar < all.lanes[lane].bars.size(); ++bar) {
      const Event& event = *all.lanes[lane].bars[bar].event;
      if (event.kind == EventKind::run) runs.push_back({event.value, bar});
    }
    std::stable_sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.value < b.value; });
  }
  for (Lane& lane : all.lanes) {
    for (Bar& bar : lane.bars) {
      const auto stream = is_sync(*bar.event) ? streams.find(index_of(bar.event->target)) : streams.end();
      if (stream == streams.end()) continue;
      const auto& [where, runs] = stream->second;
      const auto run = std::lower_bound(runs.begin(), runs.end(), bar.event->value,
                                        [](const Run& a, std::uint64_t value) { return a.value < value; });
      if (run != runs.end() && run->value == bar.event->value) bar.waited_for = BarRef{where, run->bar};
    }
  }
}

}  // namespace

Lanes lay_out(const SyncReport& report) {
  Lanes out;
  const SiteIndex sites(report);
  std::map<std::uint32_t, Lane> streams;
  for (const journal::ThreadEvents& thread : report.recording.threads) {
    Lane host{.id = thread.thread, .name = thread.name.empty() ? text("thread ", thread.thread) : thread.name};
    for (const Event& event : thread.events) {
      if (!is_drawn(event)) continue;
      Lane& lane = event.stream == StreamId::none ? host : streams[index_of(event.stream)];
      lane.bars.push_back({.event = &event, .site = is_sync(event) ? sites.find(event) : std::nullopt});
    }
    out.dropped += thread.dropped;
    if (!host.bars.empty()) out.lanes.push_back(std::move(host));
  }
  for (auto& [id, lane] : streams) {
    lane.is_stream = true;
    lane.id = id;
    lane.name = text("stream ", id);
    out.lanes.push_back(std::move(lane));
  }
  for (const journal::StreamName& stream : report.recording.streams) {
    for (Lane& lane : out.lanes) {
      if (lane.is_stream && lane.id == index_of(stream.stream)) lane.name = stream.name;
    }
  }
  if (out.lanes.empty()) return out;
  out.begin = std::numeric_limits<Nanoseconds>::max();
  for (Lane& lane : out.lanes) {
    assign_rows(lane);
    for (const Bar& bar : lane.bars) {
      out.begin = std::min(out.begin, bar.event->begin);
      out.end = std::max(out.end, bar.event->end);
    }
  }
  tie_syncs(out);
  return out;
}

}  // namespace tutti::detail
