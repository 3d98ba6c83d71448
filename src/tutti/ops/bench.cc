#include "tutti/ops/bench.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "tutti/base/clock.h"
#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/hal/sync_mode.h"
#include "tutti/place/placement.h"
#include "tutti/place/scope.h"
#include "tutti/place/stream.h"

namespace tutti {

namespace {

BenchTimes summarise(std::vector<double>& samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1))];
  };
  return {at(0.5), at(0.1), at(0.9)};
}

std::string device_name(std::string_view asked, Site site) {
  if (!asked.empty()) return std::string(asked);
  if (detail::current_scope != nullptr && !detail::current_scope->is_automatic) return detail::current_scope->requested;
  return runtime(site).devices().front()->name();
}

std::string line(const char* what, const BenchTimes& times) {
  std::array<char, 128> out{};
  std::snprintf(out.data(), out.size(), "%-13s median %10.3f us   p10 %10.3f   p90 %10.3f\n", what, times.median / 1e3,
                times.p10 / 1e3, times.p90 / 1e3);
  return out.data();
}

}  // namespace

BenchResult bench(const std::function<void()>& function, const BenchOptions& options, Site site) {
  if (options.samples < 1 || options.calls_per_sample < 1 || options.warm_up < 0) {
    throw InvalidArgument(
        text("bench needs at least one sample of one call; got ", options.samples, " samples of ", options.calls_per_sample),
        site);
  }
  LogicalDevice& on = find_device(device_name(options.device, site), site);
  Stream stream(current_stream(on), on);
  for (int i = 0; i < options.warm_up; ++i) function();
  stream.sync({.intent = Intent::measure}, site);

  std::vector<double> host;
  std::vector<double> device;
  std::vector<double> both;
  std::uint64_t syncs = 0;
  const double calls = options.calls_per_sample;
  for (int i = 0; i < options.samples; ++i) {
    Event first({.timing = true});
    Event last({.timing = true});
    first.record(stream, site);
    const SyncCount own;
    const Nanoseconds begin = now();
    for (int call = 0; call < options.calls_per_sample; ++call) function();
    const Nanoseconds enqueued = now();
    syncs += own.demand_syncs();
    last.record(stream, site);
    last.sync({.intent = Intent::measure}, site);
    const Nanoseconds end = now();
    host.push_back(static_cast<double>(enqueued - begin) / calls);
    device.push_back(static_cast<double>(Event::elapsed(first, last, site).count()) / calls);
    both.push_back(static_cast<double>(end - begin) / calls);
  }
  return {summarise(host), summarise(device),        summarise(both),
          options.samples, options.calls_per_sample, static_cast<double>(syncs) / (calls * options.samples)};
}

std::string BenchResult::to_string() const {
  std::string out = line("host enqueue", host_enqueue) + line("device", device) + line("end to end", end_to_end);
  out += text(samples, " samples of ", calls_per_sample, " calls\n");
  if (syncs_per_call > 0) {
    std::array<char, 160> note{};
    std::snprintf(note.data(), note.size(),
                  "note: the function itself syncs (%.2f demand syncs per call), so its enqueue time contains waits\n",
                  syncs_per_call);
    out += note.data();
  }
  return out;
}

}  // namespace tutti
