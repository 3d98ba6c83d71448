#include "tutti/diag/sync_report.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <ostream>
#include <string_view>
#include <tuple>
#include <utility>

namespace tutti {

namespace {

bool is_same_place(const SyncTotals& a, const SyncTotals& b) {
  return a.reason == b.reason && a.site.line() == b.site.line() && a.site.column() == b.site.column() &&
         std::string_view(a.site.file()) == b.site.file();
}

// A call in a header is a site of its own in every file that includes it; for people it is one.
void add(SyncTotals& sum, const SyncTotals& other) {
  const bool names_both = *sum.op != '\0' && *other.op != '\0';
  sum.several_ops |= other.several_ops || (names_both && std::string_view(sum.function) != other.function);
  if (*sum.op == '\0') {
    sum.op = other.op;
    sum.function = other.function;
  }
  sum.several_streams |= other.several_streams || sum.stream != other.stream;
  sum.several_threads |= other.several_threads || sum.thread != other.thread;
  sum.calls += other.calls;
  sum.blocked += other.blocked;
  sum.timed_out += other.timed_out;
  sum.refused += other.refused;
  sum.waiting += other.waiting;
  sum.blocked_time += other.blocked_time;
  if (sum.stack.empty() || (!other.stack.empty() && other.longest > sum.longest)) sum.stack = other.stack;
  sum.longest = std::max(sum.longest, other.longest);
  sum.device_idle += other.device_idle;
  sum.bytes += other.bytes;
  sum.deepest_queue = std::max(sum.deepest_queue, other.deepest_queue);
  sum.allowed += other.allowed;
  if (sum.allowed_because.empty()) sum.allowed_because = other.allowed_because;
  sum.nothing_queued += other.nothing_queued;
  sum.already_synced += other.already_synced;
  sum.in_a_row += other.in_a_row;
  sum.sent_for += other.sent_for;
  for (std::size_t i = 0; i < intents; ++i) sum.stated[i] += other.stated[i];
}

// All at once: what is read of the program's files is read once.
void name_stacks(SyncReport& report) {
  std::vector<const void*> all;
  for (const ReportedSync& each : report.sites) all.insert(all.end(), each.totals.stack.begin(), each.totals.stack.end());
  if (all.empty()) return;
  std::vector<NativeFrame> named = name_frames(all);
  auto next = std::make_move_iterator(named.begin());
  for (ReportedSync& each : report.sites) {
    const auto end = next + static_cast<std::ptrdiff_t>(each.totals.stack.size());
    each.stack.assign(next, end);
    next = end;
  }
  report.about_stacks = missing_for_names();
}

auto rank(const SyncTotals& site) {
  return std::tuple(!is_demand(site.reason), -site.device_idle, -site.blocked_time, ~site.calls,
                    std::string_view(site.site.file()), site.site.line(), site.site.column(), site.reason);
}

void add(SyncSum& sum, const SyncTotals& site) {
  ++sum.sites;
  sum.calls += site.calls;
  sum.blocked += site.blocked;
  sum.refused += site.refused;
  sum.blocked_time += site.blocked_time;
  sum.device_idle += site.device_idle;
}

}  // namespace

SyncReport sync_report() {
  SyncReport out;
  out.program = program_invocation_short_name;
  for (SyncTotals& each : sync_totals()) {
    const auto same = std::find_if(out.sites.begin(), out.sites.end(),
                                   [&](const ReportedSync& known) { return is_same_place(known.totals, each); });
    if (same == out.sites.end()) {
      out.sites.push_back({std::move(each), {}, {}});
    } else {
      add(same->totals, each);
    }
  }
  std::sort(out.sites.begin(), out.sites.end(),
            [](const ReportedSync& a, const ReportedSync& b) { return rank(a.totals) < rank(b.totals); });
  for (ReportedSync& each : out.sites) {
    each.verdict = classify(each.totals);
    add(is_demand(each.totals.reason) ? out.demand : out.flow, each.totals);
  }
  name_stacks(out);
  out.recording = journal::snapshot();
  return out;
}

std::ostream& operator<<(std::ostream& out, const SyncReport& report) { return out << report.to_text(); }

}  // namespace tutti
