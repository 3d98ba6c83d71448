#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "tutti/base/human_time.h"
#include "tutti/base/paragraph.h"
#include "tutti/base/text.h"
#include "tutti/diag/sync_report.h"

namespace tutti {

namespace {

constexpr std::size_t indent = 4;
constexpr std::size_t most_site = 72;
constexpr std::size_t columns = 80;
constexpr std::size_t most_reason = 64;  // cut in the middle: it may be one long word
constexpr std::size_t frame_indent = 6;
constexpr std::ptrdiff_t most_frames = 16;

// "12345678", "1234M": never wider than its column.
std::string count(std::uint64_t number) {
  return number < 10'000'000       ? text(number)
         : number < 10'000'000'000 ? text(number / 1'000'000, "M")
                                   : text(number / 1'000'000'000, "G");
}

std::string time_or_none(Nanoseconds time) { return time == 0 ? "-" : human_time(time); }

// The end of a path says more than its beginning.
std::string shortened(const std::string& site, std::size_t most = most_site) {
  return site.size() <= most ? site : "..." + site.substr(site.size() - (most - 3));
}

// Two calls on one line are told apart by their columns.
std::string name_of(const SyncReport& report, const SyncTotals& site) {
  const auto on_line = std::count_if(report.sites.begin(), report.sites.end(), [&](const ReportedSync& other) {
    return other.totals.reason == site.reason && other.totals.site.line() == site.site.line() &&
           std::string_view(other.totals.site.file()) == site.site.file();
  });
  const std::string name = site.site.to_string();
  return shortened(on_line == 1 ? name : text(name, ":", site.site.column()));
}

std::string row(std::string_view number, std::string_view reason, std::string_view kind, std::string_view calls,
                std::string_view blocked, std::string_view time, std::string_view idle) {
  const auto padded = [](std::string_view part, std::size_t width, bool to_the_right) {
    const std::string space(width - std::min(width, part.size()), ' ');
    return to_the_right ? space + std::string(part) : std::string(part) + space;
  };
  return text(padded(number, 3, true), " ", padded(reason, 21, false), padded(kind, 15, false), padded(calls, 8, true),
              padded(blocked, 9, true), padded(time, 12, true), padded(idle, 11, true), "\n");
}

// "examples/loop.cc:31, for what sum made on /device:GPU:0"
std::string where(const SyncReport& report, const SyncTotals& site) {
  std::string out = name_of(report, site);
  if (*site.op != '\0') out += text(", for what ", site.function, site.several_ops ? " and others" : "", " made");
  if (!site.device.empty()) out += text(*site.op != '\0' ? " on " : ", for ", without_process(site.device));
  return out;
}

// "allowed: log the loss"
std::string allowance(const SyncTotals& site) {
  const std::string some = site.allowed < site.calls ? text(" in ", site.allowed, " of ", site.calls, " calls") : "";
  return site.allowed_because.empty() ? text("allowed", some, ", without a reason")
                                      : text("allowed", some, ": ", printable(site.allowed_because, most_reason));
}

// A line for the name, and one for the place where both do not fit.
std::string frame_lines(const NativeFrame& frame) {
  constexpr std::size_t width = columns - frame_indent;
  const std::string space(frame_indent, ' ');
  std::string name = frame.name();
  if (name.size() > width) name = name.substr(0, width - 3) + "...";
  if (frame.file.empty()) return text(space, name, "\n");
  const std::string place = text("at ", shortened(text(frame.file, ":", frame.line), width - 5));
  return name.size() + 1 + place.size() <= width ? text(space, name, " ", place, "\n")
                                                 : text(space, name, "\n", space, "  ", place, "\n");
}

// From the call into this library outwards to main().
std::string stack_of(const std::vector<NativeFrame>& stack, Nanoseconds longest) {
  auto begin = std::find_if_not(stack.begin(), stack.end(), [](const NativeFrame& frame) { return frame.is_tuttis; });
  if (begin == stack.end()) begin = stack.begin();  // a thread of the runtime itself
  auto end = std::find_if(begin, stack.end(), [](const NativeFrame& frame) { return frame.function == "main"; });
  if (end != stack.end()) ++end;
  const bool is_cut = end == stack.end() && stack.size() == most_stack_frames;
  const auto shown = std::min<std::ptrdiff_t>(end - begin, most_frames);
  std::string out =
      paragraph(longest == 0 ? std::string("called from:") : text("blocked longest, ", human_time(longest), ", from:"), indent);
  for (auto frame = begin; frame != begin + shown; ++frame) out += frame_lines(*frame);
  const std::string space(frame_indent, ' ');
  if (shown < end - begin)
    out += text(space, "... and ", end - begin - shown, is_cut ? " or more\n" : " more\n");
  else if (is_cut)
    out += space + "... and more\n";
  return out;
}

std::string in_full(const SyncReport& report, std::size_t index) {
  const auto& [totals, verdict, stack] = report.sites[index];
  std::string out = row(text(index + 1), to_string(totals.reason), to_string(verdict.kind), count(totals.calls),
                        count(totals.blocked), time_or_none(totals.blocked_time), time_or_none(totals.device_idle));
  out += paragraph(where(report, totals), indent);
  std::string evidence = verdict.evidence;
  if (totals.timed_out != 0) evidence += text("; ", totals.timed_out, " timed out");
  if (totals.waiting != 0) evidence += text("; ", totals.waiting, " still waiting");
  if (totals.refused != 0 && totals.calls != 0) evidence += text("; ", totals.refused, " refused");
  out += paragraph(evidence, indent);
  if (totals.allowed != 0) out += paragraph(allowance(totals), indent);
  if (!verdict.fix.empty()) out += paragraph("fix: " + verdict.fix, indent);
  for (const auto& [use, fix] : verdict.may_be) out += paragraph(text("if ", use, " -> ", fix), indent);
  if (!stack.empty()) out += stack_of(stack, totals.longest);
  return out;
}

std::string total(std::string_view name, const SyncSum& sum) {
  return row("", name, text(sum.sites, sum.sites == 1 ? " site" : " sites"), count(sum.calls), count(sum.blocked),
             time_or_none(sum.blocked_time), time_or_none(sum.device_idle));
}

}  // namespace

std::string SyncReport::to_text() const {
  if (sites.empty()) return "Syncs of the host: none.\n";
  std::string out = "Syncs of the host; first those of the program that left a device idle longest\n";
  out += row("#", "reason", "class", "calls", "blocked", "time", "idle");
  for (std::size_t i = 0; i < sites.size(); ++i) out += in_full(*this, i);
  out += "In all\n";
  out += total("demand", demand);
  out += total("flow", flow);
  if (!about_stacks.empty()) out += paragraph("Of the stacks, " + about_stacks);
  return out;
}

}  // namespace tutti
