#include "tutti/ops/bench.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <set>

#include "tutti/base/clock.h"
#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/stream.h"
#include "tutti/hal/door.h"
#include "tutti/hal/sync_mode.h"
#include "tutti/place/runtime.h"

namespace tutti {

namespace {

BenchTimes summarise(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1))];
  };
  return {at(0.5), at(0.1), at(0.9)};
}

using ByReason = std::array<double, sync_reasons>;  // nanoseconds

// What the thread waits for while it lives.
class HostWaits {
 public:
  HostWaits() : HostWaits(std::make_unique<Entry>()) {}

  [[nodiscard]] std::uint64_t demand_syncs() const noexcept { return entry_.demand_syncs.load(std::memory_order_relaxed); }
  [[nodiscard]] const ByReason& times() const noexcept { return entry_.times; }

 private:
  struct Entry final : detail::SyncScopeEntry {
    void blocked(SyncReason reason, Nanoseconds waited) noexcept override {
      times[static_cast<std::size_t>(reason)] += static_cast<double>(waited);
    }
    ByReason times{};
  };
  explicit HostWaits(std::unique_ptr<Entry> entry) : entry_(*entry), scope_("bench", std::move(entry), Site{}) {}

  const Entry& entry_;
  detail::OpenSyncScope scope_;
};

// Too much was in flight: with fewer calls there is no such wait.
bool ran_too_far_ahead(const ByReason& waits) {
  return waits[static_cast<std::size_t>(SyncReason::back_pressure)] > 0 ||
         waits[static_cast<std::size_t>(SyncReason::memory_pressure)] > 0;
}

struct OnDevice {
  LogicalDevice* device;
  DeviceStream* stream;
};

// What has been submitted to every stream, to see later which have got more.
class Submitted {
 public:
  explicit Submitted(Runtime& instance) : instance_(instance) {
    for (LogicalDevice* device : instance.devices()) {
      for (DeviceStream* stream : device->streams()) values_[stream] = stream->last().value;
    }
  }
  [[nodiscard]] std::vector<OnDevice> grown() const {
    std::vector<OnDevice> out;
    for (LogicalDevice* device : instance_.devices()) {
      for (DeviceStream* stream : device->streams()) {
        const auto before = values_.find(stream);
        if (stream->last().value > (before == values_.end() ? 0 : before->second)) out.push_back({device, stream});
      }
    }
    return out;
  }

 private:
  Runtime& instance_;
  std::map<DeviceStream*, std::uint64_t> values_;
};

Event mark(DeviceStream& stream, LogicalDevice& device, Site site) {
  Event out({.timing = true});
  Stream on(stream, device);
  out.record(on, site);
  return out;
}

// The devices and streams that the function was seen to use.
class Touched {
 public:
  // True: a device is among them that was not known.
  bool add(const std::vector<OnDevice>& used) {
    const std::size_t known = devices_.size();
    for (const OnDevice& each : used) {
      devices_.insert(each.device);
      streams_.emplace(each.stream, each.device);
    }
    return devices_.size() > known;
  }
  // Waits until all their streams are empty. A CPU may have run work in the caller, whose failures are told here too.
  void drain(Runtime& instance, Site site) const {
    std::vector<DeviceStream*> streams;
    std::vector<TimelinePoint> points;
    for (LogicalDevice* device : instance.devices()) {
      if (!device->is_cpu() && devices_.count(device) == 0) continue;
      for (DeviceStream* stream : device->streams()) {
        streams.push_back(stream);
        points.push_back(stream->last());
      }
    }
    await_all(points, {.reason = SyncReason::event_sync, .site = site, .intent = Intent::measure});
    raise_failures(streams);
  }
  // A time mark at the end of each of their streams, and of their default streams.
  [[nodiscard]] std::map<DeviceStream*, Event> marks(Site site) const {
    std::map<DeviceStream*, Event> out;
    for (const auto& [stream, device] : streams_) out.emplace(stream, mark(*stream, *device, site));
    for (LogicalDevice* device : devices_) {
      if (out.count(&device->default_stream()) == 0)
        out.emplace(&device->default_stream(), mark(device->default_stream(), *device, site));
    }
    return out;
  }
  [[nodiscard]] int devices() const noexcept { return static_cast<int>(devices_.size()); }
  [[nodiscard]] int streams() const noexcept { return static_cast<int>(streams_.size()); }

 private:
  std::set<LogicalDevice*> devices_;
  std::map<DeviceStream*, LogicalDevice*> streams_;
};

struct Samples {
  std::vector<double> host_enqueue;
  std::vector<double> device;
  std::vector<double> end_to_end;
  std::array<std::vector<double>, sync_reasons> waits_in_enqueue;
  std::array<std::vector<double>, sync_reasons> waits_in_all;
  std::uint64_t syncs = 0;

  void add_waits(const ByReason& in_enqueue, int enqueue_calls, const ByReason& in_all, int calls) {
    for (std::size_t i = 0; i < sync_reasons; ++i) {
      waits_in_enqueue[i].push_back(in_enqueue[i] / enqueue_calls);
      waits_in_all[i].push_back(in_all[i] / calls);
    }
  }
  // Those that at least a tenth of the samples had: a wait that came once moves no figure.
  [[nodiscard]] std::vector<BenchWait> waits() const {
    std::vector<BenchWait> out;
    for (std::size_t i = 0; i < sync_reasons; ++i) {
      const BenchWait wait{static_cast<SyncReason>(i), summarise(waits_in_enqueue[i]), summarise(waits_in_all[i])};
      if (wait.in_host_enqueue.p90 > 0 || wait.in_end_to_end.p90 > 0) out.push_back(wait);
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const BenchWait& a, const BenchWait& b) { return a.in_end_to_end.p90 > b.in_end_to_end.p90; });
    return out;
  }
};

template <class... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 200> out{};
  std::snprintf(out.data(), out.size(), format, values...);
  return out.data();
}

std::string line(const char* what, const BenchTimes& times) {
  return formatted("%-13s median %10.3f us   p10 %10.3f   p90 %10.3f\n", what, times.median / 1e3, times.p10 / 1e3,
                   times.p90 / 1e3);
}

std::string note(const char* figure, SyncReason reason, const BenchTimes& times) {
  if (times.p90 <= 0) return {};
  return formatted("note: %s holds waits of the host, %s: median %.3f us, p90 %.3f us\n", figure, to_string(reason),
                   times.median / 1e3, times.p90 / 1e3);
}

std::string counted(int count, const char* what) { return text(count, ' ', what, count == 1 ? "" : "s"); }

}  // namespace

BenchResult bench(const std::function<void()>& function, const BenchOptions& options, Site site) {
  if (options.samples < 1 || options.calls_per_sample < 1 || options.warm_up < 0) {
    throw InvalidArgument(
        text("bench needs at least one sample of one call; got ", options.samples, " samples of ", options.calls_per_sample),
        site);
  }
  Runtime& instance = runtime(site);
  Touched touched;
  {
    const Submitted before(instance);
    for (int i = 0; i < options.warm_up; ++i) function();
    touched.add(before.grown());
  }
  touched.drain(instance, site);

  const int calls = options.calls_per_sample;
  int enqueue_calls = calls;
  Samples samples;
  while (samples.host_enqueue.size() < static_cast<std::size_t>(options.samples)) {
    const std::map<DeviceStream*, Event> begins = touched.marks(site);
    const Submitted before(instance);
    ByReason in_enqueue;
    ByReason in_all;
    std::uint64_t syncs = 0;
    Nanoseconds enqueued = 0;
    const Nanoseconds begin = now();
    {
      const HostWaits waits;
      for (int call = 0; call < enqueue_calls; ++call) function();
      enqueued = now();
      in_enqueue = waits.times();
      for (int call = enqueue_calls; call < calls; ++call) function();
      in_all = waits.times();
      syncs = waits.demand_syncs();
    }
    const Nanoseconds returned = now();
    const std::vector<OnDevice> used = before.grown();
    std::vector<Event> ends;
    ends.reserve(used.size());
    for (const OnDevice& each : used) ends.push_back(mark(*each.stream, *each.device, site));
    const bool is_new_device = touched.add(used);
    touched.drain(instance, site);
    const Nanoseconds end = now();

    const bool is_too_many = enqueue_calls > 1 && ran_too_far_ahead(in_enqueue);
    if (is_too_many) enqueue_calls /= 2;
    if (is_new_device || is_too_many) {
      samples = {};
      continue;
    }
    Nanoseconds span = used.empty() ? returned - begin : 0;
    for (std::size_t i = 0; i < used.size(); ++i) {
      auto first = begins.find(used[i].stream);
      if (first == begins.end()) first = begins.find(&used[i].device->default_stream());  // a stream that was not used before
      span = std::max<Nanoseconds>(span, Event::elapsed(first->second, ends[i], site).count());
    }
    samples.host_enqueue.push_back(static_cast<double>(enqueued - begin) / enqueue_calls);
    samples.device.push_back(static_cast<double>(span) / calls);
    samples.end_to_end.push_back(static_cast<double>(end - begin) / calls);
    samples.add_waits(in_enqueue, enqueue_calls, in_all, calls);
    samples.syncs += syncs;
  }
  return {.host_enqueue = summarise(samples.host_enqueue),
          .device = summarise(samples.device),
          .end_to_end = summarise(samples.end_to_end),
          .samples = options.samples,
          .calls_per_sample = calls,
          .enqueue_calls = enqueue_calls,
          .devices = touched.devices(),
          .streams = touched.streams(),
          .syncs_per_call = static_cast<double>(samples.syncs) / (static_cast<double>(calls) * options.samples),
          .waits = samples.waits()};
}

std::string BenchResult::to_string() const {
  std::string out = line("host enqueue", host_enqueue) + line("device", device) + line("end to end", end_to_end);
  out += text(counted(samples, "sample"), " of ", counted(calls_per_sample, "call"));
  if (enqueue_calls < calls_per_sample) out += text(", host enqueue of the first ", enqueue_calls);
  out += streams == 0 ? "; nothing was enqueued: all ran in the caller\n"
                      : text("; ", counted(streams, "stream"), " of ", counted(devices, "device"), '\n');
  if (syncs_per_call > 0) out += formatted("note: the function itself syncs, %.2f demand syncs per call\n", syncs_per_call);
  for (const BenchWait& wait : waits) {
    out += note("host enqueue", wait.reason, wait.in_host_enqueue);
    out += note("end to end", wait.reason, wait.in_end_to_end);
  }
  return out;
}

}  // namespace tutti
