#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tutti/base/human_time.h"
#include "tutti/base/paragraph.h"
#include "tutti/base/text.h"
#include "tutti/trace/trace_report.h"

namespace tutti::tracing {

namespace {

constexpr std::size_t indent = 4;
constexpr std::size_t most_name = 74;
constexpr std::size_t most_sites = 20;
constexpr std::size_t most_stack = 4;

std::string time_of(std::uint64_t nanoseconds) {
  return nanoseconds == 0 ? "-" : human_time(static_cast<Nanoseconds>(nanoseconds));
}

// The end of a path says more than its beginning.
std::string shortened(const std::string& name, std::size_t most = most_name) {
  const std::string whole = printable(name, 4 * most);
  return whole.size() <= most ? whole : "..." + whole.substr(whole.size() - (most - 3));
}

std::string beginning(const std::string& line, std::size_t most) {
  const std::string whole = printable(line, 4 * most);
  return whole.size() <= most ? whole : whole.substr(0, most - 3) + "...";
}

std::string padded(std::string_view part, std::size_t width, bool to_the_right) {
  const std::string space(width - std::min(width, part.size()), ' ');
  return to_the_right ? space + std::string(part) : std::string(part) + space;
}

std::string row(std::string_view number, std::string_view what, std::string_view kind, std::string_view waits,
                std::string_view per_step, std::string_view time) {
  return text(padded(number, 3, true), " ", padded(what, 22, false), padded(kind, 15, false), padded(waits, 9, true),
              padded(per_step, 10, true), padded(time, 12, true), "\n");
}

std::string tenths(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  const std::uint64_t value = (part * 10 + whole / 2) / whole;
  return text(value / 10, ".", value % 10);
}

// A long wait may cost nothing, a short one much: what counts is whether the GPU ran out of work.
std::string cost_of(const TraceReport& report, const WaitSite& site) {
  const std::uint64_t steps = report.timed_steps(site);
  const char* const each = report.steps ? " a step" : "";
  if (site.cost.idle == 0 && site.cost.gain == 0)
    return "the GPU always had work meanwhile: without this wait nothing would be quicker, the host would wait elsewhere";
  return text("left the GPU idle for ", time_of(site.cost.idle / steps), each, "; without it ", time_of(site.cost.gain / steps),
              " less", each, " (predicted)");
}

std::uint64_t percent(std::uint64_t part, std::uint64_t whole) { return part * 100 / std::max<std::uint64_t>(whole, 1); }

std::string about_gpu(const TraceReport& report) {
  const GpuCost& gpu = *report.gpu;
  const std::uint64_t steps = report.timed_steps();
  const char* const what = report.steps ? "a step" : "all of it";
  const std::uint64_t busy = percent(gpu.busy(), gpu.device_time);
  const std::uint64_t without = gpu.simulated - std::min(gpu.simulated, gpu.gain);
  std::string each;
  for (const DeviceTime& device : gpu.devices)
    each += text(each.empty() ? " (" : ", ", device.device, ": ", percent(device.busy, gpu.time), " %");
  const bool has_several = gpu.devices.size() > 1;
  const bool is_one_process = std::count_if(report.process_gpu.begin(), report.process_gpu.end(),
                                            [](const std::optional<GpuCost>& cost) { return cost.has_value(); }) == 1;
  std::string out = paragraph(text(has_several ? "The GPUs were" : "The GPU was", " busy for ", busy, " % of the time",
                                   has_several && is_one_process ? each + ")" : "", ". Without any of the waits ", what,
                                   " would take ", time_of(without / steps), " instead of ", time_of(gpu.simulated / steps),
                                   " (both simulated from what was recorded; in fact it took ", time_of(gpu.time / steps), ")"));
  if (is_limited_by_host(gpu.busiest, without)) {
    out += paragraph(text("The host is the limit here: GPU busy ", percent(gpu.busiest, gpu.time),
                          report.steps ? " % of a step" : " % of the time",
                          ". So what is predicted is the least that a repair gains: what else the host does for a wait is in "
                          "no record"));
  }
  return out;
}

std::string in_full(const TraceReport& report, std::size_t index) {
  const WaitSite& site = report.sites[index];
  const bool is_steady = site.waits != 0;
  std::string out =
      row(text(index + 1), to_string(site.kind, site.direction), to_string(site.verdict.kind), text(site.all()),
          is_steady ? tenths(site.waits, report.steps_of(site)) : "-", time_of(is_steady ? site.time : site.warm_up_time));
  out += text(std::string(indent, ' '), shortened(site.key.place.name()), "\n");
  if (!site.key.place.source.empty()) out += text(std::string(indent + 2, ' '), beginning(site.key.place.source, 70), "\n");
  std::string how = printable(site.key.api, 200);
  if (site.bytes != 0) how += text(", ", human_bytes(site.bytes));
  if (site.memory != HostMemory::none) how += site.memory == HostMemory::pageable ? " pageable" : " pinned";
  how += text(", longest ", time_of(site.longest));
  if (report.processes.size() > 1) how += text(", in ", site.processes(), " of ", report.processes.size(), " processes");
  if (site.of_main_thread != 0) how += ", on another thread than this line's";
  out += paragraph(how, indent);
  if (!site.range.empty()) out += paragraph(text("in the NVTX range ", printable(site.range, 200)), indent);
  if (report.gpu && is_steady) out += paragraph(cost_of(report, site), indent);
  out += paragraph(printable(site.verdict.evidence, 400), indent);
  if (!site.verdict.fix.empty()) out += paragraph("fix: " + site.verdict.fix, indent);
  if (!site.rule.empty()) out += paragraph(text("rule: ", site.rule, " (tutti lint --explain ", site.rule, ")"), indent);
  for (const auto& [use, fix] : site.verdict.may_be) out += paragraph(text("if ", use, " -> ", fix), indent);
  if (site.verdict.kind == SyncClass::unknown) {
    for (std::size_t i = 0; i < std::min(most_stack, site.stack.size()); ++i)
      out += text(std::string(indent + 2, ' '), "at ", shortened(site.stack[i], 70), "\n");
  }
  return out;
}

// "Only in the warm-up: loading code 9 times, 260 ms; pinned memory 2 times, 2.11 ms"
std::string warm_up(const TraceReport& report, std::size_t first) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> kinds;
  for (std::size_t i = first; i < report.sites.size(); ++i) {
    auto& [waits, time] = kinds[to_string(report.sites[i].kind, report.sites[i].direction)];
    waits += report.sites[i].warm_up;
    time += report.sites[i].warm_up_time;
  }
  if (kinds.empty()) return "";
  std::string out;
  for (const auto& [kind, sum] : kinds)
    out += text(out.empty() ? "" : "; ", kind, " ", sum.first, sum.first == 1 ? " time, " : " times, ", time_of(sum.second));
  return paragraph("Only in the warm-up: " + out);
}

std::string beginning_of(const TraceReport& report) {
  const Steps& steps = *report.steps;
  if (steps.site) return text("the wait at ", shortened(report.sites[*steps.site].key.place.name(), 50));
  return text("the kernel ", beginning(steps.kernel, 50));
}

// "The steps of 7 more processes take 1.50 ms to 1.62 ms (medians)"
std::string about_other_steps(const TraceReport& report) {
  std::vector<std::uint64_t> medians;
  for (std::size_t i = 0; i < report.process_steps.size(); ++i) {
    if (i != report.leading && report.process_steps[i]) medians.push_back(report.process_steps[i]->quantile(0.5));
  }
  if (medians.empty()) return "";
  const auto [least, most] = std::minmax_element(medians.begin(), medians.end());
  const std::string times = *least == *most ? time_of(*least) : text(time_of(*least), " to ", time_of(*most));
  return paragraph(text("These are the steps of process ", report.processes[report.leading].pid, "; those of ", medians.size(),
                        medians.size() == 1 ? " more process take " : " more processes take ", times,
                        " (median). What a place has per step is counted by the steps of the processes that have it"));
}

std::string about(const TracedProcess& process) {
  std::string out = text("Process ", process.pid, ": ", shortened(process.command, 50), ", ");
  if (process.was_untraced) {
    out += "of which nothing was recorded";
  } else {
    out += text(process.waits, process.waits == 1 ? " call" : " calls", " that can block, ", time_of(process.time));
  }
  if (!process.has_ended && !process.was_untraced) out += "; it was killed, or still runs: this is what it had done until then";
  std::string lines = paragraph(out);
  for (const std::string& note : process.notes) lines += paragraph(printable(note, 400), indent);
  return lines;
}

}  // namespace

std::string TraceReport::to_text() const {
  std::string out;
  for (const TracedProcess& process : processes) out += about(process);
  for (const std::string& file : unread) out += paragraph("Left out: " + printable(file, 400));
  if (steps) {
    out +=
        paragraph(text(steps->times.size(), " steps of ", time_of(steps->quantile(0.5)), " (median; ",
                       time_of(steps->quantile(0.1)), " to ", time_of(steps->quantile(0.9)), " are eight of ten), each begun by ",
                       beginning_of(*this), steps->warm_up == 0 ? "" : text("; ", steps->warm_up, " before them were warm-up")));
  }
  out += about_other_steps(*this);
  if (gpu) out += about_gpu(*this);
  const bool has_slept =
      std::any_of(sites.begin(), sites.end(), [](const WaitSite& site) { return site.kind == WaitKind::sleep; });
  if (host_callbacks != 0 && !has_slept) {
    out += paragraph(text(host_callbacks,
                          " host callbacks were enqueued (cuLaunchHostFunc). JAX ends its waits that way; no thread was seen to "
                          "sleep until one."));
  }
  if (sites.empty()) {
    const bool is_known =
        std::any_of(processes.begin(), processes.end(), [](const TracedProcess& process) { return !process.was_untraced; });
    return out + (is_known ? "Waits of the host: none.\n" : "Waits of the host: not known.\n");
  }
  // What only the warm-up had is not what makes a step slow.
  const auto steady = static_cast<std::size_t>(
      std::find_if(sites.begin(), sites.end(), [&](const WaitSite& site) { return steps && site.waits == 0; }) - sites.begin());
  out += text("Waits of the host; first those that ", gpu ? "cost most" : "took longest", steps ? " in the steps\n" : "\n");
  out += row("#", "wait", "class", "waits", "per step", "time");
  const std::size_t shown = std::min(steady, most_sites);
  for (std::size_t i = 0; i < shown; ++i) out += in_full(*this, i);
  if (shown < steady) out += text("... and ", steady - shown, " more places\n");
  return out + warm_up(*this, steady);
}

}  // namespace tutti::tracing
