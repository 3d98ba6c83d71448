#include "tutti/trace/trace_compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tutti/base/human_time.h"
#include "tutti/base/paragraph.h"
#include "tutti/base/text.h"
#include "tutti/base/version.h"
#include "tutti/trace/json_fields.h"

namespace tutti::tracing {

namespace {

constexpr double changed = 0.05;  // of a wait a step: the first and the last step may be cut

// Without steps, each process is one.
double steps_of(const TraceReport& report, const WaitSite& site) {
  const std::uint64_t steps = report.steps_of(site);
  return static_cast<double>(steps != 0 ? steps : std::max<std::size_t>(site.processes(), 1));
}

std::string without_comment(const std::string& code) { return code.substr(0, code.find("  #")); }

struct Sum {
  std::string place;
  std::string wait;
  double waits = 0;  // for each step of the processes that have it
  double time = 0;
  double steps = 0;
  std::set<std::size_t> processes;
  std::vector<std::size_t> sites;
};

// Places that read the same are one.
std::map<std::string, Sum> sums(const TraceReport& report) {
  std::map<std::string, Sum> out;
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    const WaitSite& site = report.sites[i];
    if (site.waits == 0) continue;
    Sum& sum = out[name_across_changes(site)];
    sum.place = site.key.place.name();
    sum.wait = to_string(site.kind, site.direction);
    sum.waits += static_cast<double>(site.waits);
    sum.time += static_cast<double>(site.time);
    sum.sites.push_back(i);
    for (const SiteShare& share : site.shares) {
      if (share.waits != 0 && sum.processes.insert(share.process).second)
        sum.steps += static_cast<double>(std::max<std::uint64_t>(report.steps_of(share.process), 1));
    }
  }
  for (auto& [name, sum] : out) {
    sum.waits /= sum.steps;
    sum.time /= sum.steps;
  }
  return out;
}

const char* word_for(SiteChange::Kind kind) {
  switch (kind) {
    case SiteChange::Kind::gone: return "gone";
    case SiteChange::Kind::added: return "new";
    case SiteChange::Kind::fewer: return "fewer";
    case SiteChange::Kind::more: return "more";
    case SiteChange::Kind::moved: return "moved";
    case SiteChange::Kind::same: return "same";
  }
  return "same";
}

SiteChange change_of(const Sum* before, const Sum* after) {
  SiteChange out;
  const Sum& one = after != nullptr ? *after : *before;
  out.place = one.place;
  out.wait = one.wait;
  if (before != nullptr) {
    out.before = before->waits;
    out.time_before = before->time;
  }
  if (after != nullptr) {
    out.after = after->waits;
    out.time_after = after->time;
  }
  if (after == nullptr) {
    out.kind = SiteChange::Kind::gone;
  } else if (before == nullptr) {
    out.kind = SiteChange::Kind::added;
  } else if (std::abs(out.after - out.before) > changed) {
    out.kind = out.after < out.before ? SiteChange::Kind::fewer : SiteChange::Kind::more;
  } else if (before->place != after->place) {
    out.kind = SiteChange::Kind::moved;
    out.was_at = before->place;
  } else {
    out.kind = SiteChange::Kind::same;
  }
  return out;
}

std::string time_of(double nanoseconds) { return nanoseconds < 1 ? "-" : human_time(static_cast<Nanoseconds>(nanoseconds)); }

// What has become of the step, beside what was predicted of it.
std::string about_gain(const TraceComparison& all) {
  const double gained = static_cast<double>(all.step_before) - static_cast<double>(all.step_after);
  const double expected =
      all.predicted == 0 ? 0 : static_cast<double>(all.step_before - std::min(all.step_before, all.predicted));
  const auto spread = static_cast<double>(all.spread());
  const std::string limit =
      all.host_is_limit
          ? text(" The host is the limit here (GPU busy ", all.busy * 100 / std::max<std::uint64_t>(all.step_before, 1),
                 " % of a step): what was predicted is the least that a repair gains, and what else the host did "
                 "for these waits is in no record.")
          : std::string();
  const std::string was_predicted = expected < 1 ? "" : text(all.host_is_limit ? "at least " : "", time_of(expected), " less");
  if (std::abs(gained) <= spread) {
    return text("Steps differ by more than the two do: no gain and no loss can be told.",
                was_predicted.empty() ? "" : text(" Predicted was ", was_predicted, "."), limit);
  }
  if (gained < 0)
    return text("A step takes ", time_of(-gained), " longer",
                was_predicted.empty() ? "" : text("; predicted was ", was_predicted), ".");
  if (was_predicted.empty()) return text("The gain is ", time_of(gained), ".");
  if (!all.host_is_limit && expected > spread) {
    return text("The gain is ", time_of(gained), ", ", std::lround(100 * gained / expected), " % of the ", time_of(expected),
                " that were predicted.");
  }
  return text("The gain is ", time_of(gained), "; predicted was ", was_predicted, ".", limit);
}

std::string tenths(double value) {
  const auto rounded = std::lround(value * 10);
  return text(rounded / 10, ".", rounded % 10);
}

}  // namespace

std::string name_across_changes(const std::string& file, const std::string& function, const std::string& code,
                                const std::string& wait) {
  return text(file.substr(file.rfind('/') + 1), "\n", function, "\n", without_comment(code), "\n", wait);
}

std::string name_across_changes(const WaitSite& site) {
  const Place& place = site.key.place;
  return name_across_changes(place.file, place.function, place.expression.empty() ? place.source : place.expression,
                             to_string(site.kind, site.direction));
}

double waits_per_step(const TraceReport& report, const WaitSite& site) {
  return static_cast<double>(site.waits) / steps_of(report, site);
}

WaitsPerStep most_waits_per_step(const TraceReport& report) {
  std::vector<std::uint64_t> waits(report.processes.size(), 0);
  for (const WaitSite& site : report.sites) {
    for (const SiteShare& share : site.shares) waits[share.process] += share.waits;
  }
  WaitsPerStep out;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const double each = static_cast<double>(waits[i]) / static_cast<double>(std::max<std::uint64_t>(report.steps_of(i), 1));
    if (each > out.waits) out = {each, i};
  }
  return out;
}

TraceComparison compare(const TraceReport& before, const TraceReport& after, const std::vector<ProcessTrace>& traces_before) {
  TraceComparison out;
  const std::map<std::string, Sum> old_sites = sums(before);
  const std::map<std::string, Sum> new_sites = sums(after);
  double saved = 0;
  std::vector<LeftOut> left_out;
  double added = 0;
  for (const auto& [name, sum] : old_sites) {
    const auto found = new_sites.find(name);
    out.sites.push_back(change_of(&sum, found == new_sites.end() ? nullptr : &found->second));
    const double less = out.sites.back().time_before - out.sites.back().time_after;
    (less > 0 ? saved : added) += std::abs(less);
    const SiteChange& change = out.sites.back();
    if (change.kind != SiteChange::Kind::gone && change.kind != SiteChange::Kind::fewer) continue;
    for (const std::size_t site : sum.sites) left_out.push_back({site, 1 - change.after / change.before});
  }
  for (const auto& [name, sum] : new_sites) {
    if (old_sites.contains(name)) continue;
    out.sites.push_back(change_of(nullptr, &sum));
    added += sum.time;
  }
  std::stable_sort(out.sites.begin(), out.sites.end(), [](const SiteChange& a, const SiteChange& b) {
    return std::abs(a.time_after - a.time_before) > std::abs(b.time_after - b.time_before);
  });
  if (before.steps) {
    out.step_before = before.steps->quantile(0.5);
    out.spread_before = before.steps->quantile(0.9) - before.steps->quantile(0.1);
  }
  if (after.steps) {
    out.step_after = after.steps->quantile(0.5);
    out.spread_after = after.steps->quantile(0.9) - after.steps->quantile(0.1);
  }
  if (before.gpu && before.steps && !left_out.empty()) {
    std::uint64_t gain = 0;
    for (std::size_t i = 0; i < traces_before.size(); ++i) {
      if (before.process_gpu[i]) gain += gain_without(left_out, before.waits, i, before.process_steps[i], traces_before[i]);
    }
    out.predicted = out.step_before - std::min(out.step_before, gain / before.timed_steps());
    out.busy = before.gpu->busiest / before.timed_steps();
    out.host_is_limit = is_limited_by_host(out.busy, out.predicted);
  }
  out.only_moved = saved > 0 && added > saved / 2;
  return out;
}

std::string TraceComparison::to_json() const {
  std::string out;
  {
    Fields fields(out);
    const auto add_known = [&](std::string_view name, std::uint64_t value) {
      if (value != 0) {
        fields.add(name, value);
      } else {
        fields.key(name) += "null";
      }
    };
    fields.add("tutti", version());
    add_known("step_before_ns", step_before);
    add_known("step_after_ns", step_after);
    fields.add("spread_before_ns", spread_before);
    fields.add("spread_after_ns", spread_after);
    add_known("predicted_ns", predicted);
    fields.add_flag("host_is_limit", host_is_limit);
    fields.add_flag("only_moved", only_moved);
    write_array(fields.key("sites"), sites, [&](const SiteChange& site) {
      Fields each(out);
      each.add("change", word_for(site.kind));
      each.add("place", site.place);
      each.add_or_null("was_at", site.was_at);
      each.add("wait", site.wait);
      each.add_thousandths("before", site.before);
      each.add_thousandths("after", site.after);
      each.add("time_before_ns", static_cast<std::uint64_t>(site.time_before));
      each.add("time_after_ns", static_cast<std::uint64_t>(site.time_after));
    });
  }
  return out + "\n";
}

std::string TraceComparison::to_text() const {
  std::string out;
  if (step_before != 0 && step_after != 0) {
    out += paragraph(text("A step took ", time_of(static_cast<double>(step_before)), " (spread ",
                          time_of(static_cast<double>(spread_before)), ") and takes ", time_of(static_cast<double>(step_after)),
                          " (spread ", time_of(static_cast<double>(spread_after)), ")",
                          predicted == 0 ? "" : text("; predicted was ", time_of(static_cast<double>(predicted)))));
    out += paragraph(about_gain(*this));
  } else {
    out +=
        paragraph("Steps were not recognised in both: what follows are totals, or counts for each step where there are steps.");
  }
  if (only_moved) {
    out += paragraph(
        "What the host no longer waits for in one place it waits for in another: these waits were moved rather than removed.");
  }
  if (sites.empty()) return out + "No waits in either.\n";
  const auto padded = [](const std::string& part, std::size_t width) {
    return std::string(width - std::min(width, part.size()), ' ') + part;
  };
  out += "change  waits a step      time a step            wait\n";
  for (const SiteChange& site : sites) {
    const std::string kind = word_for(site.kind);
    out += text(kind, std::string(6 - kind.size(), ' '), padded(tenths(site.before), 6), " ->", padded(tenths(site.after), 6),
                "  ", padded(time_of(site.time_before), 9), " ->", padded(time_of(site.time_after), 9), "  ", site.wait, "\n");
    out += paragraph(site.was_at.empty() ? printable(site.place, 400)
                                         : text(printable(site.place, 400), ", was at ", printable(site.was_at, 400)),
                     4);
  }
  return out;
}

}  // namespace tutti::tracing
