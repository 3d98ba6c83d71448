#include "tools/sync_table.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iomanip>
#include <sstream>
#include <vector>

#include "tutti/base/text.h"

namespace tutti::tools {

namespace {

constexpr int site_width = 30;
constexpr int reason_width = 20;

// The end of a path says more than its beginning.
std::string shortened(const std::string& site) {
  constexpr auto most = static_cast<std::size_t>(site_width - 2);
  return site.size() <= most ? site : "..." + site.substr(site.size() - (most - 3));
}

// Two calls on one line are one row here.
std::vector<SyncTotals> by_line(std::span<const SyncTotals> totals) {
  std::vector<SyncTotals> rows;
  for (const SyncTotals& each : totals) {
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const SyncTotals& row) {
      return row.reason == each.reason && row.site.line() == each.site.line() && row.site.to_string() == each.site.to_string();
    });
    if (same == rows.end()) {
      rows.push_back(each);
      continue;
    }
    same->calls += each.calls;
    same->blocked += each.blocked;
    same->blocked_time += each.blocked_time;
  }
  return rows;
}

}  // namespace

std::string human_time(Nanoseconds time) {
  struct Unit {
    double nanoseconds;
    const char* name;
  };
  constexpr std::array<Unit, 3> units{{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}}};
  const auto value = static_cast<double>(time);
  for (const Unit& unit : units) {
    if (value < unit.nanoseconds) continue;
    std::array<char, 32> out{};
    const double scaled = value / unit.nanoseconds;
    std::snprintf(out.data(), out.size(), "%.*f %s", scaled < 10 ? 2 : 1, scaled, unit.name);
    return out.data();
  }
  return text(time, " ns");
}

std::string sync_table(std::span<const SyncTotals> totals) {
  std::ostringstream out;
  out << std::left << std::setw(site_width) << "site" << std::setw(reason_width) << "reason" << std::right << std::setw(8)
      << "calls" << std::setw(9) << "blocked" << std::setw(12) << "time" << '\n';
  for (const SyncTotals& row : by_line(totals)) {
    out << std::left << std::setw(site_width) << shortened(row.site.to_string()) << std::setw(reason_width)
        << to_string(row.reason) << std::right << std::setw(8) << row.calls << std::setw(9) << row.blocked << std::setw(12)
        << human_time(row.blocked_time) << '\n';
  }
  return out.str();
}

}  // namespace tutti::tools
