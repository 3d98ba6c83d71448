#include <algorithm>
#include <string>

#include "tutti/base/text.h"
#include "tutti/journal/json_text.h"
#include "tutti/trace/json_fields.h"
#include "tutti/trace/trace_report.h"

namespace tutti::tracing {

namespace {

constexpr std::uint32_t work_process = 1U << 30;  // beyond every process id

// Microseconds; no digit of a nanosecond is lost to a double.
std::string microseconds(std::uint64_t nanoseconds) {
  const std::string rest = text(nanoseconds % 1000);
  return text(nanoseconds / 1000, ".", std::string(3 - rest.size(), '0'), rest);
}

class Events {
 public:
  explicit Events(std::string& out) : out_(out) {}

  void name(const char* what, std::uint64_t process, std::uint64_t thread, const std::string& name) {
    begin();
    out_ += text("{\"ph\":\"M\",\"name\":\"", what, "\",\"pid\":", process, ",\"tid\":", thread, ",\"args\":{\"name\":");
    journal::append_json_string(out_, name);
    out_ += "}}";
  }
  void span(std::uint64_t process, std::uint64_t thread, const std::string& name, std::uint64_t from, std::uint64_t to,
            const std::string& arguments) {
    begin();
    out_ += "{\"ph\":\"X\",\"name\":";
    journal::append_json_string(out_, name);
    out_ += text(",\"pid\":", process, ",\"tid\":", thread, ",\"ts\":", microseconds(from),
                 ",\"dur\":", microseconds(to - std::min(from, to)), ",\"args\":{", arguments, "}}");
  }

 private:
  void begin() {
    if (!is_first_) out_ += ",\n";
    is_first_ = false;
  }
  std::string& out_;
  bool is_first_ = true;
};

std::string argument(const char* name, const std::string& value) {
  std::string out = text('"', name, "\":");
  journal::append_json_string(out, value);
  return out;
}

}  // namespace

std::string to_timeline(const TraceReport& report, const std::vector<ProcessTrace>& traces) {
  std::string out = "{\"traceEvents\":[\n";
  Events events(out);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const ProcessTrace& trace = traces[i];
    events.name("process_name", trace.process.pid, 0, text("waits: ", report.processes[i].command));
    for (const auto& [thread, name] : trace.threads) events.name("thread_name", trace.process.pid, thread, text(name, " waits"));
    if (trace.work.empty()) continue;
    events.name("process_name", work_process + i, 0, text("GPU of process ", trace.process.pid));
    for (const WorkBody& work : trace.work) {
      const std::uint64_t lane = (static_cast<std::uint64_t>(work.device) << 20U) + work.stream;
      events.span(work_process + i, lane, trace.text_of(work.name), work.begin, work.end,
                  work.bytes == 0 ? "" : text("\"bytes\":", work.bytes));
    }
  }
  for (const HostWait& wait : report.waits.waits) {
    const WaitSite& site = report.sites[wait.site];
    std::string arguments = text(argument("at", site.key.place.name()), ",", argument("line", site.key.place.source), ",",
                                 argument("api", site.key.api), ",", argument("class", to_string(site.verdict.kind)));
    if (const std::string& range = traces[wait.process].text_of(wait.range); !range.empty())
      arguments += text(",", argument("range", range));
    arguments += text(",\"thread\":", wait.thread);
    if (wait.stream != 0) arguments += text(",", argument("stream", handle_text(wait.stream)));
    if (wait.bytes != 0) arguments += text(",\"bytes\":", wait.bytes);
    events.span(traces[wait.process].process.pid, wait.thread, to_string(wait.kind, wait.direction), wait.begin, wait.end,
                arguments);
  }
  return out + "\n]}\n";
}

}  // namespace tutti::tracing
