#include "tutti/trace/trace_compare.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tutti/base/human_time.h"
#include "tutti/base/paragraph.h"
#include "tutti/base/text.h"

namespace tutti::tracing {

namespace {

constexpr double changed = 0.05;  // of a wait a step: the first and the last step may be cut

double steps_of(const TraceReport& report) { return report.steps ? static_cast<double>(report.steps->begun()) : 1; }

std::string without_comment(const std::string& code) { return code.substr(0, code.find("  #")); }

struct Sum {
  std::string place;
  std::string wait;
  double waits = 0;
  double time = 0;
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
    sum.waits += waits_per_step(report, site);
    sum.time += static_cast<double>(site.time) / steps_of(report);
    sum.sites.push_back(i);
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
  return static_cast<double>(site.waits) / steps_of(report);
}

double waits_per_step(const TraceReport& report) {
  double out = 0;
  for (const WaitSite& site : report.sites) out += waits_per_step(report, site);
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
    const std::uint64_t gain = gain_without(left_out, before.waits, before.steps, traces_before) / before.steps->times.size();
    out.predicted = out.step_before - std::min(out.step_before, gain);
  }
  out.only_moved = saved > 0 && added > saved / 2;
  return out;
}

std::string TraceComparison::to_text() const {
  std::string out;
  if (step_before != 0 && step_after != 0) {
    out += paragraph(text("A step took ", time_of(static_cast<double>(step_before)), " (spread ",
                          time_of(static_cast<double>(spread_before)), ") and takes ", time_of(static_cast<double>(step_after)),
                          " (spread ", time_of(static_cast<double>(spread_after)), ")",
                          predicted == 0 ? "" : text("; predicted was ", time_of(static_cast<double>(predicted)))));
    if (predicted != 0 && predicted < step_before) {
      const double expected = static_cast<double>(step_before) - static_cast<double>(predicted);
      const double gained = static_cast<double>(step_before) - static_cast<double>(step_after);
      out += paragraph(gained <= 0 ? text("Of the gain that was predicted, ", time_of(expected), ", there is nothing")
                                   : text("The gain is ", time_of(gained), ", ", std::lround(100 * gained / expected),
                                          " % of the ", time_of(expected), " that were predicted"));
    }
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
