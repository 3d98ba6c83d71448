#include "tools/lint_measured.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tutti/base/paragraph.h"
#include "tutti/base/text.h"
#include "tutti/lint/seen_wait.h"
#include "tutti/trace/seen_sites.h"

namespace tutti::tools {

namespace {

namespace fs = std::filesystem;
using tracing::WaitKind;
using tracing::WaitSite;

// A wait that a line of Python asked for.
bool is_of_line(const WaitSite& site) {
  return site.key.place.is_python && site.of_main_thread == 0 && site.kind != WaitKind::loading && site.kind != WaitKind::door;
}

// How many names at the end of two paths are the same.
std::size_t same_names(const fs::path& a, const fs::path& b) {
  const std::vector<fs::path> one(a.begin(), a.end());
  const std::vector<fs::path> other(b.begin(), b.end());
  std::size_t same = 0;
  while (same < std::min(one.size(), other.size()) && one[one.size() - 1 - same] == other[other.size() - 1 - same]) ++same;
  return same;
}

// The file whose path ends most like the site's and that has its line; null where there is none, or several.
LintedFile* file_of(LintRun& run, const WaitSite& site) {
  const lint::SeenWait wait = tracing::seen_wait(site);
  LintedFile* best = nullptr;
  std::pair<std::size_t, bool> most{0, false};
  bool is_alone = true;
  for (LintedFile& file : run.files) {
    const std::size_t same =
        same_names(fs::absolute(file.path).lexically_normal(), fs::path(site.key.place.file).lexically_normal());
    const std::uint32_t line = same == 0 ? 0 : lint::line_of(file.source, wait);
    if (line == 0) continue;
    const std::pair how(same, line == wait.line);
    is_alone = how != most;
    if (how <= most) continue;
    best = &file;
    most = how;
  }
  return is_alone ? best : nullptr;
}

// Its place among the findings, after it was added where only the trace shows that it is one.
std::optional<std::size_t> finding_of(LintedFile& file, const WaitSite& site, const LintSettings& settings,
                                      std::map<const LintedFile*, lint::SeenSource>& seen) {
  const lint::SeenWait wait = tracing::seen_wait(site);
  std::vector<lint::Finding>& findings = file.report.findings;
  if (const lint::Finding* const found = lint::finding_of(file.source, findings, wait); found != nullptr)
    return static_cast<std::size_t>(found - findings.data());
  const auto source = seen.try_emplace(&file, file.source).first;
  const lint::Finding* const shown = source->second.finding_of(wait);
  if (shown == nullptr || !settings.rules.test(static_cast<std::size_t>(shown->rule)) || file.report.is_allowed(*shown))
    return {};
  findings.push_back(*shown);
  file.measured.emplace_back();
  return findings.size() - 1;
}

}  // namespace

tracing::TraceReport read_measurements(const std::string& trace) {
  tracing::TraceReport out = tracing::make_report(tracing::read_traces(trace));
  for (const std::string& file : out.unread) std::cerr << paragraph(text("tutti: warning: left out: ", printable(file, 400)));
  return out;
}

bool is_measured(const tracing::TraceReport& trace, const std::string& path) {
  const fs::path name = fs::path(path).filename();
  return std::any_of(trace.sites.begin(), trace.sites.end(),
                     [&](const WaitSite& site) { return is_of_line(site) && fs::path(site.key.place.file).filename() == name; });
}

void add_measurements(LintRun& run, const tracing::TraceReport& trace, const LintSettings& settings) {
  MeasuredRun& measured = run.measured.emplace();
  for (const std::optional<tracing::Steps>& steps : trace.process_steps) measured.steps += steps ? steps->begun() : 0;
  measured.knows_idle = trace.gpu.has_value();
  std::map<const LintedFile*, lint::SeenSource> seen;
  for (LintedFile& file : run.files) file.measured.resize(file.report.findings.size());
  for (const WaitSite& site : trace.sites) {
    if (!is_of_line(site)) continue;
    LintedFile* const file = file_of(run, site);
    const auto found = file == nullptr ? std::nullopt : finding_of(*file, site, settings, seen);
    if (!found) {
      const bool matters = site.waits != 0 && site.kind != WaitKind::allocation && site.kind != WaitKind::release;
      if (matters)
        measured.others.push_back({site.key.place.name(), to_string(site.kind, site.direction), site.time, file != nullptr});
      continue;
    }
    Measured& sum = file->measured[*found];
    sum.waits += site.waits;
    sum.warm_up += site.warm_up;
    sum.time += site.time;
    sum.warm_up_time += site.warm_up_time;
    sum.idle += site.cost.idle;
    sum.gain += site.cost.gain;
  }
  for (LintedFile& file : run.files) {
    std::vector<lint::Finding> kept;
    std::vector<Measured> costs;
    for (std::size_t i = 0; i < file.report.findings.size(); ++i) {
      if (file.report.findings[i].confidence < settings.least && !file.measured[i].was_reached()) continue;
      kept.push_back(std::move(file.report.findings[i]));
      costs.push_back(file.measured[i]);
    }
    file.report.findings = std::move(kept);
    file.measured = std::move(costs);
  }
  std::erase_if(run.files, [](const LintedFile& file) {
    return file.report.findings.empty() && file.report.notes.empty() && file.report.allowed == 0;
  });
}

}  // namespace tutti::tools
