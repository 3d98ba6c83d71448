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
constexpr std::size_t none = static_cast<std::size_t>(-1);

// A host that enqueues and waits, as one line of events, and the work of the GPU that they lead to.
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

bool is_timed_by_device(WaitKind kind) {
  return kind == WaitKind::stream || kind == WaitKind::event || kind == WaitKind::context || kind == WaitKind::poll ||
         kind == WaitKind::copy || kind == WaitKind::staging || kind == WaitKind::sleep;
}

// What it waits for is enqueued inside: by the call itself, or by a worker.
bool enqueues_itself(const HostWait& wait) {
  return wait.kind == WaitKind::copy || wait.kind == WaitKind::staging || wait.kind == WaitKind::sleep;
}

// What has ended last when the wait ends.
std::size_t waited_for(const Part& part, const std::vector<std::size_t>& by_end, const HostWait& wait) {
  const auto after = std::upper_bound(by_end.begin(), by_end.end(), wait.end,
                                      [&](std::uint64_t time, std::size_t work) { return time < part.work[work]->end; });
  if (!is_timed_by_device(wait.kind) || after == by_end.begin()) return none;
  const std::size_t last = *(after - 1);
  return part.work[last]->end + just_before >= wait.begin ? last : none;
}

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
  std::vector<std::size_t> by_end(part.work.size());
  for (std::size_t i = 0; i < by_end.size(); ++i) by_end[i] = i;
  std::sort(by_end.begin(), by_end.end(), [&](std::size_t a, std::size_t b) { return part.work[a]->end < part.work[b]->end; });
  for (std::size_t i = 0; i < part.waits.size(); ++i) {
    const HostWait& wait = *part.waits[i];
    Event event{wait.begin, wait.end, i, waited_for(part, by_end, wait)};
    const auto inside = std::lower_bound(launches.begin(), launches.end(), Event{wait.begin}, earlier);
    if (event.waits_for != none) {
      event.latency = wait.end - std::min(wait.end, part.work[event.waits_for]->end);
    } else if (is_timed_by_device(wait.kind) && inside != launches.begin()) {
      // It came back at once because an earlier wait had waited for the same. Without that one it is this one's turn.
      const std::size_t last = (inside - 1)->work.back();
      if (part.work[last]->end <= wait.end) event.waits_for = last;
      event.latency = usual_latency;
    }
    if (inside != launches.end() && inside->begin < wait.end) {
      if (!enqueues_itself(wait)) continue;  // other threads went on meanwhile: nothing of theirs was held up
      // The copy is enqueued, and then the host waits for it.
      inside->end = std::min(inside->end, inside->begin + usual_launch);
      event.begin = std::min(inside->end, event.end);
    }
    part.events.push_back(std::move(event));
  }
  part.events.insert(part.events.end(), launches.begin(), launches.end());
  std::stable_sort(part.events.begin(), part.events.end(), earlier);
}

std::optional<Part> part_of(const HostWaits& all, const std::optional<Steps>& steps, const std::vector<ProcessTrace>& traces) {
  std::size_t process = 0;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (traces[i].work.size() > traces[process].work.size()) process = i;
  }
  if (steps) process = steps->process;
  if (process >= traces.size() || traces[process].work.empty()) return std::nullopt;
  Part out;
  out.begin = steps ? steps->begin : traces[process].work.front().begin;
  out.end = steps ? steps->end : out.begin;
  for (const WorkBody& work : traces[process].work) {
    if (!steps) out.end = std::max(out.end, work.end);
    if (work.end >= work.begin && work.begin >= out.begin && (!steps || work.end <= out.end)) out.work.push_back(&work);
  }
  for (const HostWait& wait : all.waits) {
    if (wait.process == process && wait.begin >= out.begin && wait.end <= out.end) out.waits.push_back(&wait);
  }
  if (out.work.empty()) return std::nullopt;
  std::sort(out.work.begin(), out.work.end(), [](const WorkBody* a, const WorkBody* b) { return a->begin < b->begin; });
  std::stable_sort(out.waits.begin(), out.waits.end(), [](const HostWait* a, const HostWait* b) { return a->begin < b->begin; });
  add_events(out, traces[process]);
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

// A gap before work that was launched late is laid to the waits before it, the latest first, each for no longer than it had held
// up the host by then: so much earlier the host could have launched. Waits from further back than the driver's queue is long
// could not have helped.
void add_idle(const Part& part, const HostWait* first_wait, GpuCost& out) {
  struct Launched {
    std::uint64_t begin;
    std::size_t number;
  };
  std::unordered_map<std::uint32_t, Launched> launched;
  std::vector<HeldUp> waits;
  std::size_t launches = 0;
  for (const Event& event : part.events) {
    if (event.wait != none) waits.push_back({event.wait, event.begin, event.end, event.end - event.begin, launches});
    if (event.wait == none) ++launches;
    for (const std::size_t work : event.work) launched[part.work[work]->correlation] = {event.begin, launches};
  }
  std::vector<HeldUp> open;  // that began before the work looked at, and have something left
  std::size_t next = 0;
  std::uint64_t busy_until = part.begin;
  for (const WorkBody* work : part.work) {
    const std::uint64_t from = busy_until;
    out.busy += work->end - std::min(work->end, std::max(from, work->begin));
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
      const HostWait& wait = *part.waits[held.wait];
      out.sites[wait.site].idle += idle;
      out.idle[static_cast<std::size_t>(&wait - first_wait)] += idle;
    }
    open.erase(std::remove_if(open.begin() + static_cast<std::ptrdiff_t>(looked_at), open.end(),
                              [](const HeldUp& held) { return held.left == 0; }),
               open.end());
  }
}

// The same host and the same work again, without the waits that `is_left_out` says, each asked for once and in order.
template <class IsLeftOut>
std::uint64_t simulate(const Part& part, IsLeftOut is_left_out) {
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
      if (is_left_out(*part.waits[event.wait])) continue;
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

std::optional<GpuCost> gpu_cost(const HostWaits& all, const std::optional<Steps>& steps,
                                const std::vector<ProcessTrace>& traces) {
  const std::optional<Part> part = part_of(all, steps, traces);
  if (!part) return std::nullopt;
  GpuCost out;
  out.time = part->end - part->begin;
  out.sites.resize(all.sites.size());
  out.idle.resize(all.waits.size());
  add_idle(*part, all.waits.data(), out);
  const auto gain_of = [&](auto is_left_out) { return out.simulated - std::min(out.simulated, simulate(*part, is_left_out)); };
  out.simulated = simulate(*part, [](const HostWait&) { return false; });
  out.gain = gain_of([](const HostWait&) { return true; });
  for (std::size_t i = 0; i < out.sites.size(); ++i) {
    const bool is_there =
        std::any_of(part->waits.begin(), part->waits.end(), [&](const HostWait* wait) { return wait->site == i; });
    if (is_there) out.sites[i].gain = gain_of([&](const HostWait& wait) { return wait.site == i; });
  }
  return out;
}

std::uint64_t gain_without(const std::vector<LeftOut>& left_out, const HostWaits& all, const std::optional<Steps>& steps,
                           const std::vector<ProcessTrace>& traces) {
  const std::optional<Part> part = part_of(all, steps, traces);
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

}  // namespace tutti::tracing
