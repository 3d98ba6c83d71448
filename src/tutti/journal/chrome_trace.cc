#include "tutti/journal/chrome_trace.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/rank_files.h"
#include "tutti/base/text.h"
#include "tutti/base/whole_file.h"
#include "tutti/journal/json_text.h"

namespace tutti::journal {

namespace {

using Drain = std::function<void(std::string_view)>;

std::string_view word_for(EventKind kind) {
  switch (kind) {
    case EventKind::enqueue: return "enqueue";
    case EventKind::run: return "run";
    case EventKind::wait: return "wait";
    case EventKind::sync: return "sync";
    case EventKind::alloc: return "alloc";
    case EventKind::free: return "free";
    case EventKind::copy: return "copy";
    case EventKind::place: return "place";
    case EventKind::throttle: return "throttle";
    case EventKind::roll_call: return "roll call";
    case EventKind::exchange: return "exchange";
    case EventKind::scope: break;
  }
  return "scope";
}

bool is_of_collective(const Event& event) { return event.kind == EventKind::roll_call || event.kind == EventKind::exchange; }

// These have a length, even when the clock did not see it.
bool is_span(const Event& event) {
  return event.kind == EventKind::enqueue || event.kind == EventKind::run || event.kind == EventKind::sync ||
         event.kind == EventKind::throttle || event.kind == EventKind::scope || is_of_collective(event) ||
         event.end > event.begin;
}

// The op's name alone stands for its run; the rest of what is named after an op says so.
std::string title_of(const Event& event) {
  const std::string_view name = event.name == nullptr ? "" : event.name;
  const bool is_about_op = event.kind == EventKind::enqueue || event.kind == EventKind::place || event.kind == EventKind::copy ||
                           is_of_collective(event);
  return is_about_op ? text(word_for(event.kind), " ", name) : std::string(name);
}

// Microseconds; no digit of a nanosecond is lost to a double.
std::string microseconds(Nanoseconds time) {
  const auto whole = static_cast<std::uint64_t>(std::max<Nanoseconds>(time, 0));
  std::string part = std::to_string(whole % 1000);
  part.insert(0, 3 - part.size(), '0');
  return text(whole / 1000, ".", part);
}

// The run of a piece of work, found by its point.
struct RunStart {
  StreamId stream;
  std::uint64_t value;
  Nanoseconds begin;

  [[nodiscard]] std::pair<std::uint32_t, std::uint64_t> point() const { return {index_of(stream), value}; }
};

class TraceWriter {
 public:
  TraceWriter(const Recording& recording, Drain drain) : recording_(recording), drain_(std::move(drain)) {
    for (const StreamName& stream : recording.streams) stream_names_[index_of(stream.stream)] = stream.name;
    for (const ThreadEvents& thread : recording.threads) {
      for (const Event& event : thread.events) note(event);
    }
    std::sort(runs_.begin(), runs_.end(), [](const RunStart& a, const RunStart& b) { return a.point() < b.point(); });
  }

  void write() {
    out_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    lanes();
    for (const ThreadEvents& thread : recording_.threads) {
      for (const Event& event : thread.events) {
        body(thread, event);
        if (event.kind == EventKind::enqueue) arrow(thread, event);
      }
    }
    std::uint64_t dropped = 0;
    for (const ThreadEvents& thread : recording_.threads) dropped += thread.dropped;
    out_ += text("\n],\"otherData\":{\"dropped_events\":", dropped, "}}\n");
    drain_(out_);
  }

 private:
  void note(const Event& event) {
    for (const StreamId stream : {event.stream, event.target}) {
      if (stream != StreamId::none) stream_names_.try_emplace(index_of(stream), text("stream ", index_of(stream)));
    }
    if (event.kind == EventKind::run && event.stream != StreamId::none) runs_.push_back({event.stream, event.value, event.begin});
  }

  static std::string name_of(const ThreadEvents& thread) {
    return thread.name.empty() ? text("thread ", thread.thread) : thread.name;
  }

  std::string name_of(std::uint64_t stream) const {
    const auto found = stream_names_.find(static_cast<std::uint32_t>(stream));
    return found == stream_names_.end() ? text("stream ", stream) : found->second;
  }

  void lanes() {
    call("process_name", host_, 0, rank_name_ + "host");
    call("process_name", devices_, 0, rank_name_ + "devices");
    for (const ThreadEvents& thread : recording_.threads) {
      call("thread_name", host_, thread.thread, name_of(thread));
      if (thread.dropped == 0) continue;
      open("M", host_, thread.thread);
      out_ += text(",\"name\":\"dropped_events\",\"args\":{\"count\":", thread.dropped, "}}");
    }
    for (const auto& [id, name] : stream_names_) call("thread_name", devices_, id, name);
  }

  // One entry of the list, up to where its own fields follow.
  void open(std::string_view phase, std::uint64_t process, std::uint64_t lane) {
    constexpr std::size_t piece = std::size_t{1} << 20U;
    if (out_.size() > piece) {
      drain_(out_);
      out_.clear();
    }
    out_ += is_first_ ? "" : ",\n";
    is_first_ = false;
    out_ += text("{\"ph\":\"", phase, "\",\"pid\":", process, ",\"tid\":", lane);
  }

  void field(std::string_view key, std::string_view value) {
    out_ += text(",\"", key, "\":");
    append_json_string(out_, value);
  }

  void call(std::string_view what, std::uint64_t process, std::uint64_t lane, std::string_view name) {
    open("M", process, lane);
    field("name", what);
    out_ += ",\"args\":{\"name\":";
    append_json_string(out_, name);
    out_ += "}}";
  }

  void body(const ThreadEvents& thread, const Event& event) {
    const bool is_host = event.stream == StreamId::none;
    open(is_span(event) ? "X" : "i", is_host ? host_ : devices_, is_host ? thread.thread : index_of(event.stream));
    field("name", title_of(event));
    field("cat", word_for(event.kind));
    out_ += text(",\"ts\":", microseconds(event.begin));
    out_ += is_span(event) ? text(",\"dur\":", microseconds(event.end - event.begin)) : std::string(",\"s\":\"t\"");
    out_ += ",\"args\":{\"site\":";
    append_json_string(out_, event.site.to_string());
    if (event.detail != nullptr && *event.detail != '\0') field(is_of_collective(event) ? "group" : "detail", event.detail);
    if (!is_host) field("thread", name_of(thread));
    value(event);
    out_ += "}}";
  }

  void value(const Event& event) {
    switch (event.kind) {
      case EventKind::enqueue: field("stream", name_of(index_of(event.target))); [[fallthrough]];
      case EventKind::run:
        if (event.value != 0) out_ += text(",\"point\":", event.value);
        break;
      case EventKind::alloc:
      case EventKind::free:
      case EventKind::copy:
      case EventKind::roll_call:
      case EventKind::exchange: out_ += text(",\"bytes\":", event.value); break;
      case EventKind::wait: field("waits_for", name_of(event.value)); break;
      case EventKind::sync:
      case EventKind::throttle:
        if (event.target != StreamId::none) {
          field("waits_for", name_of(index_of(event.target)));
          out_ += text(",\"point\":", event.value);
        }
        break;
      case EventKind::place:
      case EventKind::scope: break;
    }
  }

  void arrow(const ThreadEvents& thread, const Event& enqueue) {
    const std::pair<std::uint32_t, std::uint64_t> point{index_of(enqueue.target), enqueue.value};
    const auto run =
        std::lower_bound(runs_.begin(), runs_.end(), point, [](const RunStart& a, const auto& b) { return a.point() < b; });
    if (run == runs_.end() || run->point() != point) return;  // not run yet, or its event was dropped
    const auto id = static_cast<std::uint64_t>(run - runs_.begin());
    const auto end = [&](std::string_view phase, std::uint64_t process, std::uint64_t lane, Nanoseconds time,
                         std::string_view more) {
      open(phase, process, lane);
      out_ += text(",\"name\":\"work\",\"cat\":\"", rank_name_, "flow\",\"id\":", id, ",\"ts\":", microseconds(time), more, "}");
    };
    end("s", host_, thread.thread, enqueue.begin, "");
    end("f", devices_, point.first, run->begin, ",\"bp\":\"e\"");
  }

  const Recording& recording_;
  Drain drain_;
  // The processes of a trace are the host and the devices. Those of another rank are others: its trace can be shown beside.
  const std::optional<std::uint32_t> rank_ = rank_of_files();
  const std::string rank_name_ = rank_ ? text("rank ", *rank_, " ") : "";
  const std::uint64_t host_ = 2 * std::uint64_t{rank_.value_or(0)} + 1;
  const std::uint64_t devices_ = host_ + 1;
  std::map<std::uint32_t, std::string> stream_names_;
  std::vector<RunStart> runs_;
  std::string out_;
  bool is_first_ = true;
};

}  // namespace

std::string to_chrome_trace(const Recording& recording) {
  std::string out;
  TraceWriter(recording, [&](std::string_view piece) { out += piece; }).write();
  return out;
}

void write_chrome_trace(const std::string& path, Site site) {
  try {
    WholeFile file(path);
    const Recording recording = snapshot();
    TraceWriter(recording, [&](std::string_view piece) { file.write(piece); }).write();
    file.finish();
  } catch (const std::system_error& error) {
    throw InvalidArgument(text("the trace cannot be written to '", printable(path), "': ", error.code().message(),
                               "; give the path of a file in a folder that exists, lets you write and has room"),
                          site);
  }
}

}  // namespace tutti::journal
