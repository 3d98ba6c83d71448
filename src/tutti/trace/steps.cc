#include "tutti/trace/steps.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tutti::tracing {

namespace {

constexpr std::uint64_t fewest_steps = 5;
constexpr double longer = 1.5;  // than the usual step: still warming up

// Something that happened, of one kind or another.
struct Mark {
  std::uint64_t time;
  std::size_t kind;
};
using Line = std::vector<Mark>;

// Setting up allocates and loads again and again, too.
bool belongs_to_steps(WaitKind kind) { return !is_driver_own(kind); }

// What most kinds have in common is how often the steps ran; each begins with the first of these. When they began, or nothing.
std::vector<std::uint64_t> begins_of(const Line& line, std::size_t& marker) {
  std::map<std::size_t, std::uint64_t> counts;
  for (const Mark& mark : line) ++counts[mark.kind];
  std::map<std::uint64_t, std::uint64_t> kinds_with;
  for (const auto& [kind, count] : counts) {
    if (count >= fewest_steps) ++kinds_with[count];
  }
  const auto usual = std::max_element(kinds_with.begin(), kinds_with.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second < b.second : a.first < b.first;
  });
  if (usual == kinds_with.end()) return {};
  marker = std::find_if(line.begin(), line.end(), [&](const Mark& mark) { return counts[mark.kind] == usual->first; })->kind;
  std::vector<std::uint64_t> out;
  for (const Mark& mark : line) {
    if (mark.kind == marker) out.push_back(mark.time);
  }
  return out;
}

std::uint64_t median(std::vector<std::uint64_t> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

std::uint64_t Steps::quantile(double part) const {
  if (times.empty()) return 0;
  std::vector<std::uint64_t> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  return sorted[static_cast<std::size_t>(std::lround(part * static_cast<double>(sorted.size() - 1)))];
}

namespace {

void take_steps(Steps& out, const std::vector<std::uint64_t>& begins) {
  std::vector<std::uint64_t> times;
  for (std::size_t i = 1; i < begins.size(); ++i) times.push_back(begins[i] - begins[i - 1]);
  const auto usual = static_cast<double>(median({times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end()}));
  std::size_t first = 0;
  while (first + 1 < times.size() && static_cast<double>(times[first]) > longer * usual) ++first;
  out.warm_up = first;
  out.begin = begins[first];
  out.end = begins.back();
  out.times.assign(times.begin() + static_cast<std::ptrdiff_t>(first), times.end());
}

// The waits of each thread of a process.
struct ThreadLines {
  std::map<std::uint32_t, Line> own;
  std::map<std::uint32_t, Line> of_workers;
};

// Of the thread with the most waits. Those of a framework's workers, which compile and try out kernels, count where the program's
// own threads have none.
std::vector<std::uint64_t> steps_by_waits(const ThreadLines& threads, Steps& out) {
  const auto& lines = threads.own.empty() ? threads.of_workers : threads.own;
  const auto most = std::max_element(lines.begin(), lines.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (most == lines.end()) return {};
  std::size_t marker = 0;
  std::vector<std::uint64_t> begins = begins_of(most->second, marker);
  out.site = marker;
  return begins;
}

std::vector<std::uint64_t> steps_by_kernels(const ProcessTrace& trace, Steps& out) {
  Line line;
  for (const WorkBody& work : trace.work) line.push_back({work.begin, work.name});
  std::stable_sort(line.begin(), line.end(), [](const Mark& a, const Mark& b) { return a.time < b.time; });
  std::size_t marker = 0;
  std::vector<std::uint64_t> begins = begins_of(line, marker);
  out.kernel = trace.text_of(static_cast<std::uint32_t>(marker));
  return begins;
}

std::optional<Steps> steps_of(const ThreadLines& threads, const ProcessTrace& trace) {
  Steps out;
  std::vector<std::uint64_t> begins = steps_by_waits(threads, out);
  // A loop that does not wait has more steps than what waits came again elsewhere.
  Steps by_kernels;
  const std::vector<std::uint64_t> others = steps_by_kernels(trace, by_kernels);
  if (others.size() > begins.size()) {
    begins = others;
    out = by_kernels;
  }
  if (begins.empty()) return std::nullopt;
  take_steps(out, begins);
  return out;
}

}  // namespace

StepsOfProcesses find_steps(HostWaits& all, const std::vector<ProcessTrace>& traces) {
  std::vector<ThreadLines> threads(traces.size());
  for (const HostWait& wait : all.waits) {
    if (!belongs_to_steps(wait.kind)) continue;
    ThreadLines& lines = threads[wait.process];
    (wait.is_of_worker ? lines.of_workers : lines.own)[wait.thread].push_back({wait.begin, wait.site});
  }
  StepsOfProcesses out;
  for (std::size_t i = 0; i < traces.size(); ++i) out.push_back(steps_of(threads[i], traces[i]));
  const std::optional<std::size_t> leading = leading_process(out, traces);
  if (!leading) return out;
  for (HostWait& wait : all.waits) wait.is_warm_up = wait.begin < (out[wait.process] ? *out[wait.process] : *out[*leading]).begin;
  return out;
}

std::optional<std::size_t> leading_process(const StepsOfProcesses& steps, const std::vector<ProcessTrace>& traces) {
  std::optional<std::size_t> out;
  const auto size_of = [&](std::size_t i) { return std::pair(traces[i].waits.size(), traces[i].work.size()); };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] && (!out || size_of(i) > size_of(*out))) out = i;
  }
  return out;
}

}  // namespace tutti::tracing
