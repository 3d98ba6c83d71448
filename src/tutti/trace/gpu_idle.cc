#include "tutti/trace/gpu_idle.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tutti::tracing {

namespace {

constexpr std::uint64_t usual_launch = 5'000;   // ns: of a copy that holds up nobody
constexpr std::uint64_t usual_delay = 2'000;    // ns from a launch to its begin, where nothing is before it
constexpr std::uint64_t usual_call = 1'000;     // ns: of a wait for what has ended already
constexpr std::uint64_t usual_latency = 5'000;  // ns from the end of work to that of the wait for it
constexpr std::size_t longest_queue = 1024;     // launches the driver takes before it holds up the host
constexpr double nearly_all = 0.9;              // of a time that the GPU fills
constexpr std::size_t none = static_cast<std::size_t>(-1);

// A host that enqueues and waits, as one line of events, and the work of the GPUs that they lead to.
struct Event {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::size_t wait = none;             // of the list of waits; none: a launch
  std::size_t waits_for = none;        // of the work: what has ended when the wait ends
  std::uint64_t latency = 0;           // from that to the end of the wait
  std::vector<std::size_t> work = {};  // that a launch leads to
};

struct Part {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::vector<const WorkBody*> work;   // by begin
  std::vector<const HostWait*> waits;  // by begin
  std::vector<Event> events;           // by begin
};

// Of one device, in the order of their ends.
using ByEnd = std::map<std::uint16_t, std::vector<std::size_t>>;

bool is_timed_by_device(WaitKind kind) {
  return kind == WaitKind::stream || kind == WaitKind::event || kind == WaitKind::context || kind == WaitKind::poll ||
         kind == WaitKind::copy || kind == WaitKind::staging || kind == WaitKind::sleep;
}

// What it waits for is enqueued inside: by the call itself, or by a worker.
bool enqueues_itself(const HostWait& wait) {
  return wait.kind == WaitKind::copy || wait.kind == WaitKind::staging || wait.kind == WaitKind::sleep;
}

// The first of these that ends later.
auto ends_after(const Part& part, const std::vector<std::size_t>& by_end, std::uint64_t time) {
  return std::upper_bound(by_end.begin(), by_end.end(), time,
                          [&](std::uint64_t wanted, std::size_t work) { return wanted < part.work[work]->end; });
}

// What of one device has ended last when the wait ends.
std::size_t last_ended(const Part& part, const std::vector<std::size_t>& by_end, const HostWait& wait) {
  const auto after = ends_after(part, by_end, wait.end);
  if (after == by_end.begin()) return none;
  const std::size_t last = *(after - 1);
  return part.work[last]->end + just_before >= wait.begin ? last : none;
}

// Until when the host staged a copy to the device, the call's last few microseconds being those of enqueueing it.
std::uint64_t staged_until(const Part& part, const ByEnd& devices, const HostWait& wait, const Event& launch) {
  const WorkBody& copy = *part.work[launch.work.front()];
  if (wait.direction != CopyDirection::to_device || wait.kind == WaitKind::sleep) return launch.begin;
  if (launch.end > copy.begin) {
    // It was staged until it began, or waited for its turn behind other work.
    const std::vector<std::size_t>& by_end = devices.at(copy.device);
    const auto after = ends_after(part, by_end, copy.begin);
    if (after != by_end.begin() && part.work[*(after - 1)]->end > launch.begin) return launch.begin;
  }
  const std::uint64_t enqueued = std::min(launch.end, copy.begin);
  return std::max(launch.begin, enqueued - std::min(enqueued, usual_launch));
}

// Which device a wait is for. The driver's handles of streams and events tell none; but the waits for one are all for the same
// device, and most of them end when work of that one does.
class DevicesOfHandles {
 public:
  DevicesOfHandles(const Part& part, const ByEnd& devices, const std::vector<Event>& launches) : part_(part), devices_(devices) {
    if (devices.size() < 2) return;
    launched_.resize(part.work.size(), 0);
    for (const Event& launch : launches) {
      for (const std::size_t work : launch.work) launched_[work] = launch.begin;
    }
    std::unordered_map<std::uint32_t, std::uint16_t> device_of;
    for (const auto& [device, by_end] : devices) {
      for (const std::size_t work : by_end) {
        streams_[{device, part.work[work]->stream}].push_back(work);
        device_of[part.work[work]->correlation] = device;
      }
    }
    std::unordered_map<std::uint64_t, std::map<std::uint16_t, std::uint64_t>> votes;
    for (const HostWait* wait : part.waits) {
      if (wait->stream == 0 || !is_timed_by_device(wait->kind)) continue;
      const auto copied = device_of.find(wait->correlation);
      if (enqueues_itself(*wait) && copied != device_of.end()) {
        votes[wait->stream][copied->second] += part.waits.size();  // no guess
      } else if (const auto likely = likely_device(*wait)) {
        ++votes[wait->stream][*likely];
      }
    }
    for (const auto& [handle, counts] : votes) {
      known_[handle] =
          std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->first;
    }
  }

  // None: any of them.
  [[nodiscard]] std::optional<std::uint16_t> of(const HostWait& wait) const {
    if (devices_.size() == 1) return devices_.begin()->first;
    if (const auto known = known_.find(wait.stream); wait.stream != 0 && known != known_.end()) return known->second;
    return likely_device(wait);
  }

 private:
  // The one whose work ended last before the wait did. A stream that still had work which was launched before was not waited for.
  [[nodiscard]] std::optional<std::uint16_t> likely_device(const HostWait& wait) const {
    std::optional<std::uint16_t> out;
    std::uint64_t end = 0;
    for (const auto& [stream, by_end] : streams_) {
      const std::size_t last = last_ended(part_, by_end, wait);
      if (last == none || part_.work[last]->end <= end) continue;
      const auto next = ends_after(part_, by_end, wait.end);
      if (wait.kind == WaitKind::stream && next != by_end.end() && launched_[*next] < wait.begin) continue;
      end = part_.work[last]->end;
      out = stream.first;
    }
    return out;
  }

  const Part& part_;
  const ByEnd& devices_;
  std::vector<std::uint64_t> launched_;  // when, of each work
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::vector<std::size_t>> streams_;
  std::unordered_map<std::uint64_t, std::uint16_t> known_;
};

void add_events(Part& part, const ProcessTrace& trace) {
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> work_of;
  for (std::size_t i = 0; i < part.work.size(); ++i) work_of[part.work[i]->correlation].push_back(i);
  std::vector<Event> launches;
  for (const LaunchBody& launch : trace.launches) {
    const auto led_to = work_of.find(launch.correlation);
    if (led_to != work_of.end()) launches.push_back({.begin = launch.begin, .end = launch.end, .work = led_to->second});
  }
  const auto earlier = [](const Event& a, const Event& b) { return a.begin < b.begin; };
  std::stable_sort(launches.begin(), launches.end(), earlier);
  ByEnd by_end;
  for (std::size_t i = 0; i < part.work.size(); ++i) by_end[part.work[i]->device].push_back(i);
  for (auto& [device, work] : by_end)
    std::sort(work.begin(), work.end(), [&](std::size_t a, std::size_t b) { return part.work[a]->end < part.work[b]->end; });
  const DevicesOfHandles devices(part, by_end, launches);
  for (std::size_t i = 0; i < part.waits.size(); ++i) {
    const HostWait& wait = *part.waits[i];
    const bool is_timed = is_timed_by_device(wait.kind);
    const std::optional<std::uint16_t> device = is_timed ? devices.of(wait) : std::nullopt;
    Event event{wait.begin, wait.end, i, device ? last_ended(part, by_end.at(*device), wait) : none};
    const auto inside = std::lower_bound(launches.begin(), launches.end(), Event{wait.begin}, earlier);
    if (event.waits_for != none) {
      event.latency = wait.end - std::min(wait.end, part.work[event.waits_for]->end);
    } else if (is_timed && inside != launches.begin()) {
      // It came back at once because an earlier wait had waited for the same. Without that one it is this one's turn.
      const std::size_t last = (inside - 1)->work.back();
      const bool is_of_device = !device || part.work[last]->device == *device;
      if (is_of_device && part.work[last]->end <= wait.end) event.waits_for = last;
      event.latency = usual_latency;
    }
    if (inside != launches.end() && inside->begin < wait.end) {
      if (!enqueues_itself(wait)) continue;  // other threads went on meanwhile: nothing of theirs was held up
      // The copy is staged and enqueued, and then the host waits for it. One that holds up nobody is only enqueued.
      std::uint64_t staged = staged_until(part, by_end, wait, *inside);
      if (inside + 1 != launches.end()) staged = std::min(staged, (inside + 1)->begin);
      if (staged > inside->begin) part.events.push_back({.begin = event.begin, .end = staged, .wait = i});
      inside->begin = staged;
      inside->end = std::min(inside->end, staged + usual_launch);
      event.begin = std::min(inside->end, event.end);
    }
    part.events.push_back(std::move(event));
  }
  part.events.insert(part.events.end(), launches.begin(), launches.end());
  std::stable_sort(part.events.begin(), part.events.end(), earlier);
}

// Of the steps, or of all that was recorded.
std::optional<Part> part_of(const HostWaits& all, std::size_t process, const std::optional<Steps>& steps,
                            const ProcessTrace& trace) {
  if (trace.work.empty()) return std::nullopt;
  Part out;
  out.begin = steps ? steps->begin : trace.work.front().begin;
  out.end = steps ? steps->end : out.begin;
  for (const WorkBody& work : trace.work) {
    if (!steps) out.end = std::max(out.end, work.end);
    if (work.end >= work.begin && work.begin >= out.begin && (!steps || work.end <= out.end)) out.work.push_back(&work);
  }
  for (const HostWait& wait : all.waits) {
    if (wait.process == process && wait.begin >= out.begin && wait.end <= out.end) out.waits.push_back(&wait);
  }
  if (out.work.empty()) return std::nullopt;
  std::sort(out.work.begin(), out.work.end(), [](const WorkBody* a, const WorkBody* b) { return a->begin < b->begin; });
  std::stable_sort(out.waits.begin(), out.waits.end(), [](const HostWait* a, const HostWait* b) { return a->begin < b->begin; });
  add_events(out, trace);
  return out;
}

// What a wait has held up the host for, and no gap has been laid to yet.
struct HeldUp {
  std::size_t wait;  // of the part's
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t left;
  std::size_t launches;  // before it
};

struct Launched {
  std::uint64_t begin;
  std::size_t number;
};

// How long a device was busy. A gap before work that was launched late is laid to the waits before it, the latest first, each for
// no longer than it had held up the host by then: so much earlier the host could have launched. Waits from further back than the
// driver's queue is long could not have helped.
std::uint64_t add_idle(HostWaits& all, const Part& part, std::uint16_t device, const std::vector<HeldUp>& waits,
                       const std::unordered_map<std::uint32_t, Launched>& launched, std::vector<SiteCost>& sites) {
  std::vector<HeldUp> open;  // that began before the work looked at, and have something left
  std::size_t next = 0;
  std::uint64_t busy = 0;
  std::uint64_t busy_until = part.begin;
  for (const WorkBody* work : part.work) {
    if (work->device != device) continue;
    const std::uint64_t from = busy_until;
    busy += work->end - std::min(work->end, std::max(from, work->begin));
    busy_until = std::max(busy_until, work->end);
    for (; next < waits.size() && waits[next].begin < work->begin; ++next) {
      if (waits[next].left != 0) open.push_back(waits[next]);
    }
    if (work->begin <= from) continue;
    const auto launch = launched.find(work->correlation);
    if (launch == launched.end() || launch->second.begin <= from) continue;  // it was there in time: the device's own matter
    std::uint64_t gap = work->begin - from;
    std::size_t looked_at = open.size();  // from here on
    while (looked_at > 0 && gap > 0) {
      HeldUp& held = open[looked_at - 1];
      if (held.launches + longest_queue < launch->second.number) {
        open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(looked_at));
        looked_at = 0;
        break;
      }
      --looked_at;
      const std::uint64_t later = held.end - std::min(held.end, work->begin);  // of it, after this gap
      const std::uint64_t idle = std::min(gap, held.left - std::min(held.left, later));
      gap -= idle;
      held.left -= idle;
      const HostWait* const wait = part.waits[held.wait];
      sites[wait->site].idle += idle;
      all.waits[static_cast<std::size_t>(wait - all.waits.data())].idle += idle;
    }
    open.erase(std::remove_if(open.begin() + static_cast<std::ptrdiff_t>(looked_at), open.end(),
                              [](const HeldUp& held) { return held.left == 0; }),
               open.end());
  }
  return busy;
}

std::vector<DeviceTime> idle_of_devices(HostWaits& all, const Part& part, std::vector<SiteCost>& sites) {
  std::unordered_map<std::uint32_t, Launched> launched;
  std::vector<HeldUp> waits;
  std::size_t launches = 0;
  for (const Event& event : part.events) {
    if (event.wait != none) waits.push_back({event.wait, event.begin, event.end, event.end - event.begin, launches});
    if (event.wait == none) ++launches;
    for (const std::size_t work : event.work) launched[part.work[work]->correlation] = {event.begin, launches};
  }
  std::map<std::uint16_t, std::uint64_t> devices;
  for (const WorkBody* work : part.work) devices[work->device] = 0;
  std::vector<DeviceTime> out;
  for (const auto& [device, unused] : devices) out.push_back({device, add_idle(all, part, device, waits, launched, sites)});
  return out;
}

// The same host and the same work again, without the waits that `is_left_out` says, each asked for once and in order.
template <class IsLeftOut>
std::uint64_t simulate(const Part& part, IsLeftOut is_left_out) {
  std::vector<char> left_out;
  for (const HostWait* wait : part.waits) left_out.push_back(is_left_out(*wait) ? 1 : 0);
  std::uint64_t host = part.begin;
  std::uint64_t host_was = part.begin;  // when the host was free in fact
  std::vector<std::uint64_t> ended(part.work.size(), 0);
  std::unordered_map<std::uint64_t, std::uint64_t> streams;
  std::vector<std::uint64_t> queue;  // ends of what launches led to, in order
  std::uint64_t last = part.begin;
  for (const Event& event : part.events) {
    host += event.begin - std::min(event.begin, host_was);  // work of the host's own
    const bool overlaps = event.begin < host_was;
    host_was = std::max(host_was, event.end);
    if (event.wait != none) {
      if (left_out[event.wait] != 0) continue;
      if (event.waits_for == none || ended[event.waits_for] == 0) {
        if (!overlaps) host += event.end - event.begin;
      } else {
        host = std::max(host + std::min(usual_call, event.end - event.begin), ended[event.waits_for] + event.latency);
      }
      continue;
    }
    if (queue.size() >= longest_queue) host = std::max(host, queue[queue.size() - longest_queue]);
    if (!overlaps) host += event.end - event.begin;
    for (const std::size_t index : event.work) {
      const WorkBody& work = *part.work[index];
      std::uint64_t& stream = streams[(static_cast<std::uint64_t>(work.device) << 32U) + work.stream];
      stream = std::max(stream, host + usual_delay) + (work.end - work.begin);
      ended[index] = stream;
      last = std::max(last, stream);
      queue.push_back(stream);
    }
  }
  host += part.end - std::min(part.end, host_was);
  return std::max(last, host) - part.begin;
}

}  // namespace

std::uint64_t GpuCost::busy() const noexcept {
  std::uint64_t out = 0;
  for (const DeviceTime& device : devices) out += device.busy;
  return out;
}

std::optional<GpuCost> gpu_cost(HostWaits& all, std::size_t process, const std::optional<Steps>& steps, const ProcessTrace& trace,
                                std::vector<SiteCost>& sites) {
  const std::optional<Part> part = part_of(all, process, steps, trace);
  if (!part) return std::nullopt;
  GpuCost out;
  out.time = part->end - part->begin;
  sites.resize(all.sites.size());
  out.devices = idle_of_devices(all, *part, sites);
  out.device_time = out.time * out.devices.size();
  for (const DeviceTime& device : out.devices) out.busiest = std::max(out.busiest, device.busy);
  const auto gain_of = [&](auto is_left_out) { return out.simulated - std::min(out.simulated, simulate(*part, is_left_out)); };
  out.simulated = simulate(*part, [](const HostWait&) { return false; });
  out.gain = gain_of([](const HostWait&) { return true; });
  std::vector<char> is_there(sites.size(), 0);
  for (const HostWait* wait : part->waits) is_there[wait->site] = 1;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    if (is_there[i] != 0) sites[i].gain = gain_of([&](const HostWait& wait) { return wait.site == i; });
  }
  return out;
}

std::uint64_t gain_without(const std::vector<LeftOut>& left_out, const HostWaits& all, std::size_t process,
                           const std::optional<Steps>& steps, const ProcessTrace& trace) {
  const std::optional<Part> part = part_of(all, process, steps, trace);
  if (!part) return 0;
  std::unordered_map<std::size_t, double> parts;
  for (const LeftOut& each : left_out) parts[each.site] = each.part;
  std::unordered_map<std::size_t, double> kept;  // of a site: the part of its waits that is due to be kept
  const std::uint64_t with = simulate(*part, [](const HostWait&) { return false; });
  const std::uint64_t without = simulate(*part, [&](const HostWait& wait) {
    const auto found = parts.find(wait.site);
    if (found == parts.end()) return false;
    double& due = kept[wait.site];
    due += 1 - found->second;
    if (due < 1) return true;
    due -= 1;
    return false;
  });
  return with - std::min(with, without);
}

bool is_limited_by_host(std::uint64_t busiest, std::uint64_t time_without_waits) noexcept {
  return static_cast<double>(busiest) < nearly_all * static_cast<double>(time_without_waits);
}

}  // namespace tutti::tracing
