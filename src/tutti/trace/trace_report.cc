#include "tutti/trace/trace_report.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "tutti/base/text.h"
#include "tutti/trace/seen_sites.h"
#include "tutti/trace/wait_class.h"

namespace tutti::tracing {

namespace {

constexpr std::uint64_t at_once = 6'000;      // ns: a call into the driver that has nothing to wait for
constexpr std::uint64_t just_after = 30'000;  // ns between waits that could be one

TracedProcess describe(const ProcessTrace& trace) {
  TracedProcess out;
  out.pid = trace.process.pid;
  for (const std::string& word : trace.command) out.command += text(out.command.empty() ? "" : " ", word);
  out.python = trace.python;
  out.waits = trace.waits.size();
  out.has_ended = trace.end.has_value();
  std::uint64_t last = trace.end ? trace.end->end : trace.process.begin;
  for (const WaitBody& wait : trace.waits) last = std::max(last, wait.end);
  out.time = last - std::min(last, trace.process.begin);
  out.notes = trace.notes;
  out.was_untraced =
      std::any_of(out.notes.begin(), out.notes.end(), [](const std::string& note) { return note.starts_with(untraced); });
  const bool lacks_waits = trace.end && trace.end->unkept != 0;
  const auto full = std::find(out.notes.begin(), out.notes.end(), bound_reached);
  out.is_incomplete = !trace.damage.empty() || lacks_waits || full != out.notes.end();
  if (!trace.damage.empty()) out.notes.push_back(text("of its file, ", trace.damage));
  if (lacks_waits) {
    std::erase(out.notes, bound_reached);  // what is missing is counted
    const std::uint64_t bound =
        trace.process.most_kib == 0 ? most_file_bytes : static_cast<std::uint64_t>(trace.process.most_kib) << 10U;
    out.notes.push_back(text(trace.end->unkept, " of its ", trace.end->waits,
                             " waits are missing: the file had reached its bound of ", human_bytes(bound)));
  }
  return out;
}

std::string thread_name(const ProcessTrace& trace, std::uint32_t thread) {
  const auto known = trace.threads.find(thread);
  return text(known == trace.threads.end() || known->second.empty() ? "thread" : known->second, " ", thread);
}

bool reads_small_value(const HostWait& wait) {
  return wait.direction == CopyDirection::to_host && wait.bytes <= most_small_value;
}

void add_share(WaitSite& site, const HostWait& wait) {
  auto share =
      std::find_if(site.shares.begin(), site.shares.end(), [&](const SiteShare& each) { return each.process == wait.process; });
  if (share == site.shares.end()) share = site.shares.insert(share, {.process = wait.process});
  ++(wait.is_warm_up ? share->warm_up : share->waits);
  if (!wait.is_warm_up) share->time += wait.time();
}

std::vector<WaitSite> sum_up(const HostWaits& all, const Stacks& stacks, const std::vector<ProcessTrace>& traces) {
  std::vector<WaitSite> out(all.sites.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i].key = all.sites[i];
  std::map<std::pair<std::size_t, std::uint32_t>, const HostWait*> last;  // of a thread
  for (const HostWait& wait : all.waits) {
    WaitSite& site = out[wait.site];
    const ResolvedStack* stack = nullptr;
    if (const auto found = stacks[wait.process].find(wait.stack); found != stacks[wait.process].end()) stack = &found->second;
    if (site.all() == 0 || wait.time() > site.longest) {
      site.longest = wait.time();
      site.range = traces[wait.process].text_of(wait.range);
      if (stack != nullptr) {
        site.stack.clear();
        for (const StackLine& line : stack->lines) site.stack.push_back(line.name());
        site.native_names = stack->native_names;
      }
    }
    site.kind = wait.kind;
    site.direction = wait.direction;
    site.memory = std::max(site.memory, wait.memory);
    site.bytes = std::max(site.bytes, wait.bytes);
    ++(wait.is_warm_up ? site.warm_up : site.waits);
    (wait.is_warm_up ? site.warm_up_time : site.time) += wait.time();
    if (wait.time() <= at_once) ++site.instant;
    if (stack != nullptr && stack->is_of_main_thread) ++site.of_main_thread;
    add_share(site, wait);
    site.threads.insert(thread_name(traces[wait.process], wait.thread));
    if (wait.stream != 0) site.streams.insert(wait.stream);
    const HostWait*& before = last[{wait.process, wait.thread}];
    if (before != nullptr && reads_small_value(*before) && reads_small_value(wait) && wait.begin - before->end < just_after) {
      ++site.in_a_row;
      site.previous = before->site;
    }
    before = &wait;
  }
  return out;
}

// Best first; what refers to a site by its number is renumbered.
void rank(std::vector<WaitSite>& sites, HostWaits& all, StepsOfProcesses& steps) {
  std::vector<std::size_t> order(sites.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto weight = [](const WaitSite& site) {
      return std::tuple(site.cost.gain, site.cost.idle, site.time, site.warm_up_time);
    };
    return weight(sites[a]) > weight(sites[b]);
  });
  std::vector<std::size_t> place(sites.size());
  std::vector<WaitSite> ranked;
  for (const std::size_t old : order) {
    place[old] = ranked.size();
    ranked.push_back(std::move(sites[old]));
  }
  for (WaitSite& site : ranked) site.previous = place[site.previous];
  for (HostWait& wait : all.waits) wait.site = place[wait.site];
  for (std::optional<Steps>& each : steps) {
    if (each && each->site) each->site = place[*each->site];
  }
  all.sites.clear();
  for (const WaitSite& site : ranked) all.sites.push_back(site.key);
  sites = std::move(ranked);
}

// Of every process with steps, or of every one where none has any.
void add_costs(TraceReport& report, const std::vector<ProcessTrace>& traces) {
  const bool has_steps = std::any_of(report.process_steps.begin(), report.process_steps.end(),
                                     [](const std::optional<Steps>& steps) { return steps.has_value(); });
  report.process_gpu.resize(traces.size());
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (has_steps && !report.process_steps[i]) continue;
    std::vector<SiteCost> costs;
    const std::optional<GpuCost> cost = gpu_cost(report.waits, i, report.process_steps[i], traces[i], costs);
    if (!cost) continue;
    report.process_gpu[i] = cost;
    if (!report.gpu) report.gpu.emplace();
    report.gpu->time += cost->time;
    report.gpu->device_time += cost->device_time;
    report.gpu->busiest += cost->busiest;
    report.gpu->simulated += cost->simulated;
    report.gpu->gain += cost->gain;
    report.gpu->devices.insert(report.gpu->devices.end(), cost->devices.begin(), cost->devices.end());
    for (WaitSite& site : report.sites) {
      const SiteCost& each = costs[static_cast<std::size_t>(&site - report.sites.data())];
      for (SiteShare& share : site.shares) {
        if (share.process == i) share.cost = each;
      }
      site.cost.idle += each.idle;
      site.cost.gain += each.gain;
    }
  }
}

}  // namespace

std::size_t WaitSite::processes() const noexcept {
  const auto steady = std::count_if(shares.begin(), shares.end(), [](const SiteShare& share) { return share.waits != 0; });
  return steady == 0 ? shares.size() : static_cast<std::size_t>(steady);
}

std::uint64_t TraceReport::steps_of(std::size_t process) const {
  const std::optional<Steps>& own = process_steps[process];
  return own ? own->begun() : steps ? steps->begun() : 0;
}

std::uint64_t TraceReport::steps_of(const WaitSite& site) const {
  std::uint64_t out = 0;
  for (const SiteShare& share : site.shares) {
    if (share.waits != 0) out += steps_of(share.process);
  }
  return out;
}

std::uint64_t TraceReport::timed_steps(const WaitSite& site) const {
  std::uint64_t out = 0;
  for (const SiteShare& share : site.shares) {
    if (share.waits != 0 && process_gpu[share.process]) out += steps ? process_steps[share.process]->times.size() : 1;
  }
  return std::max<std::uint64_t>(out, 1);
}

std::uint64_t TraceReport::timed_steps() const {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < process_gpu.size(); ++i) {
    if (process_gpu[i]) out += steps ? process_steps[i]->times.size() : 1;
  }
  return std::max<std::uint64_t>(out, 1);
}

TraceReport make_report(const std::vector<ProcessTrace>& traces) {
  TraceReport out;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    out.processes.push_back(describe(traces[i]));
    out.stacks.push_back(resolve_stacks(traces[i]));
    add_waits(out.waits, i, traces[i], out.stacks.back());
  }
  out.host_callbacks = out.waits.host_callbacks;
  out.process_steps = find_steps(out.waits, traces);
  const std::optional<std::size_t> leading = leading_process(out.process_steps, traces);
  out.leading = leading.value_or(0);
  out.sites = sum_up(out.waits, out.stacks, traces);
  add_costs(out, traces);
  rank(out.sites, out.waits, out.process_steps);
  if (leading) out.steps = out.process_steps[*leading];
  // A copy that was joined to the wait for it leaves its own site without a wait.
  while (!out.sites.empty() && out.sites.back().all() == 0) {
    out.sites.pop_back();
    out.waits.sites.pop_back();
  }
  read_sources(out.sites);
  for (WaitSite& site : out.sites) site.verdict = classify(site, out.sites);
  return out;
}

TraceReport make_report(const Traces& traces) {
  TraceReport out = make_report(traces.processes);
  out.unread = traces.unread;
  return out;
}

}  // namespace tutti::tracing
