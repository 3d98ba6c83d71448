#include "tutti/trace/host_waits.h"

#include <algorithm>
#include <map>
#include <optional>

#include "tutti/base/text.h"

namespace tutti::tracing {

namespace {

constexpr std::uint64_t longest_between = 50'000'000;  // ns from a copy to the wait that is its own

bool is_copy(const WaitBody& wait) { return wait.kind == WaitKind::staging || wait.kind == WaitKind::copy; }

// A blocking copy of a framework is an asynchronous one and a wait for its stream.
bool belongs_to_copy(const WaitBody& copy, const WaitBody& wait) {
  return copy.kind == WaitKind::staging && wait.kind == WaitKind::stream && copy.thread == wait.thread &&
         copy.stream == wait.stream && copy.bytes == wait.bytes && copy.direction == wait.direction && wait.begin >= copy.end &&
         wait.begin - copy.end < longest_between;
}

// What a worker waited for while the main thread slept until it was done is a part of that sleep.
bool is_inside(const WaitBody& wait, const HostWait& sleep) {
  const bool is_timed_by_device = is_copy(wait) || wait.kind == WaitKind::stream || wait.kind == WaitKind::event ||
                                  wait.kind == WaitKind::context || wait.kind == WaitKind::poll;
  return is_timed_by_device && wait.begin >= sleep.begin && wait.end <= sleep.end;
}

void take_in(HostWait& sleep, const WaitBody& wait) {
  sleep.calls += wait.calls;
  if (wait.direction == CopyDirection::none || wait.bytes < sleep.bytes) return;
  sleep.bytes = wait.bytes;
  sleep.direction = wait.direction;
  sleep.memory = wait.memory;
}

}  // namespace

void add_waits(HostWaits& all, std::size_t process, const ProcessTrace& trace,
               const std::map<std::uint32_t, ResolvedStack>& stacks) {
  static const ResolvedStack nowhere;
  std::vector<const WaitBody*> sorted;
  for (const WaitBody& wait : trace.waits) sorted.push_back(&wait);
  std::stable_sort(sorted.begin(), sorted.end(), [](const WaitBody* a, const WaitBody* b) { return a->begin < b->begin; });
  std::map<std::uint32_t, std::pair<const WaitBody*, std::size_t>> last;  // of a thread: the record, and the wait it went into
  const auto place_of = [&](std::uint32_t stack) -> const Place& {
    const auto found = stacks.find(stack);
    return found == stacks.end() ? nowhere.place : found->second.place;
  };
  const auto site_of = [&](const SiteKey& key) {
    const auto index = static_cast<std::size_t>(std::find(all.sites.begin(), all.sites.end(), key) - all.sites.begin());
    if (index == all.sites.size()) all.sites.push_back(key);
    return index;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> known;  // stack and api
  std::optional<std::size_t> slept;                                      // of the waits: the main thread's last sleep
  const auto is_of_main_thread = [&](std::uint32_t stack) {
    const auto found = stacks.find(stack);
    return found != stacks.end() && found->second.is_of_main_thread;
  };
  const auto is_of_worker = [&](const WaitBody& wait) {
    if (trace.python.empty() || wait.thread == trace.process.pid) return false;
    const auto found = trace.stacks.find(wait.stack);
    return is_of_main_thread(wait.stack) || found == trace.stacks.end() || found->second.python.empty();
  };
  for (const WaitBody* each : sorted) {
    const WaitBody& wait = *each;
    if (wait.kind == WaitKind::host_callback) {
      ++all.host_callbacks;
      continue;
    }
    if (slept && is_of_main_thread(wait.stack) && is_inside(wait, all.waits[*slept])) {
      take_in(all.waits[*slept], wait);
      continue;
    }
    auto& [previous, place] = last[wait.thread];
    if (previous != nullptr && belongs_to_copy(*previous, wait) && place_of(previous->stack) == place_of(wait.stack)) {
      HostWait& whole = all.waits[place];
      whole.end = wait.end;
      ++whole.calls;
      whole.site = site_of({place_of(wait.stack), text(trace.text_of(previous->api), ", ", trace.text_of(wait.api))});
      previous = nullptr;
      continue;
    }
    previous = is_copy(wait) ? &wait : nullptr;
    place = all.waits.size();
    const auto [site, is_new] = known.try_emplace({wait.stack, wait.api}, 0);
    if (is_new) site->second = site_of({place_of(wait.stack), trace.text_of(wait.api)});
    if (wait.kind == WaitKind::sleep && wait.thread == trace.process.pid) slept = all.waits.size();
    all.waits.push_back({.begin = wait.begin,
                         .end = wait.end,
                         .bytes = wait.bytes,
                         .stream = wait.stream,
                         .calls = wait.calls,
                         .thread = wait.thread,
                         .stack = wait.stack,
                         .range = wait.range,
                         .correlation = wait.correlation,
                         .process = process,
                         .site = site->second,
                         .kind = wait.kind,
                         .direction = wait.direction,
                         .memory = wait.memory,
                         .is_of_worker = is_of_worker(wait)});
  }
}

bool is_driver_own(WaitKind kind) noexcept {
  return kind == WaitKind::loading || kind == WaitKind::allocation || kind == WaitKind::release ||
         kind == WaitKind::host_memory || kind == WaitKind::resource;
}

std::string to_string(WaitKind kind, CopyDirection direction) {
  const auto copy = [&](const char* how) {
    switch (direction) {
      case CopyDirection::to_device: return text(how, " to the device");
      case CopyDirection::to_host: return text(how, " to the host");
      default: return std::string(how);
    }
  };
  switch (kind) {
    case WaitKind::stream: return direction == CopyDirection::none ? "stream sync" : copy("copy");
    case WaitKind::event: return "event sync";
    case WaitKind::context: return "device sync";
    case WaitKind::poll: return "query loop";
    case WaitKind::copy:
    case WaitKind::staging: return copy("copy");
    case WaitKind::fill: return "memset of host memory";
    case WaitKind::allocation: return "device memory";
    case WaitKind::release: return "device memory freed";
    case WaitKind::host_memory: return "pinned memory";
    case WaitKind::loading: return "loading code";
    case WaitKind::resource: return "resource of the driver";
    case WaitKind::host_callback: return "host callback";
    case WaitKind::door: return "tutti's own wait";
    case WaitKind::sleep: return direction == CopyDirection::none ? "wait for a callback" : copy("copy");
  }
  return "wait";
}

}  // namespace tutti::tracing
