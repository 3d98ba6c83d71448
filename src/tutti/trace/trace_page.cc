#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tutti/base/text.h"
#include "tutti/diag/page.h"
#include "tutti/journal/json_text.h"
#include "tutti/trace/flames.h"
#include "tutti/trace/json_fields.h"
#include "tutti/trace/trace_report.h"

// The report in the form that the page of diag draws (docs/sync-report.md).
namespace tutti::tracing {

namespace {

constexpr std::size_t most_bars = 200'000;  // a browser has to hold them

struct Bar {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string_view what;
  std::string name;
  std::string place;
  std::string range = {};
  std::uint64_t stream = 0;
  std::int64_t site = -1;
  std::size_t row = 0;
  std::pair<std::size_t, std::size_t> waited_for = {};  // lane and bar
  bool has_waited = false;
  bool is_timed_by_device = false;
};

struct Lane {
  bool is_stream = false;
  std::size_t process = 0;
  std::uint64_t id = 0;
  std::string name;
  std::size_t rows = 1;
  std::vector<Bar> bars;
};

// By begin, each in the first row that is free by then.
void lay_out(Lane& lane) {
  std::stable_sort(lane.bars.begin(), lane.bars.end(), [](const Bar& a, const Bar& b) { return a.begin < b.begin; });
  std::vector<std::uint64_t> free_from;
  for (Bar& bar : lane.bars) {
    const auto row = std::find_if(free_from.begin(), free_from.end(), [&](std::uint64_t time) { return time <= bar.begin; });
    bar.row = static_cast<std::size_t>(row - free_from.begin());
    if (row == free_from.end()) {
      free_from.push_back(bar.end);
    } else {
      *row = bar.end;
    }
  }
  lane.rows = std::max<std::size_t>(free_from.size(), 1);
}

// A wait is tied to what had ended last when it did.
void tie_waits(std::vector<Lane>& lanes) {
  struct Ended {
    std::uint64_t end;
    std::size_t lane;
    std::size_t bar;
  };
  std::map<std::size_t, std::vector<Ended>> work;  // of a process
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    for (std::size_t k = 0; lanes[i].is_stream && k < lanes[i].bars.size(); ++k)
      work[lanes[i].process].push_back({lanes[i].bars[k].end, i, k});
  }
  for (auto& [process, all] : work)
    std::sort(all.begin(), all.end(), [](const Ended& a, const Ended& b) { return a.end < b.end; });
  for (Lane& lane : lanes) {
    const std::vector<Ended>& all = work[lane.process];
    for (Bar& bar : lane.bars) {
      const auto after = std::upper_bound(all.begin(), all.end(), bar.end,
                                          [](std::uint64_t time, const Ended& each) { return time < each.end; });
      if (!bar.is_timed_by_device || after == all.begin() || (after - 1)->end + just_before < bar.begin) continue;
      bar.waited_for = {(after - 1)->lane, (after - 1)->bar};
      bar.has_waited = true;
    }
  }
}

std::vector<Lane> lanes_of(const TraceReport& report, const std::vector<ProcessTrace>& traces, std::size_t& dropped) {
  std::map<std::pair<std::size_t, std::uint64_t>, Lane> threads;
  std::map<std::pair<std::size_t, std::uint64_t>, Lane> streams;
  std::size_t bars = 0;
  const auto has_room = [&] { return ++bars <= most_bars; };
  const auto named = [&](std::size_t process, const std::string& name) {
    return traces.size() == 1 ? name : text(name, " of ", traces[process].process.pid);
  };
  for (const HostWait& wait : report.waits.waits) {
    if (!has_room()) break;
    Lane& lane = threads[{wait.process, wait.thread}];
    if (lane.bars.empty()) {
      const auto known = traces[wait.process].threads.find(wait.thread);
      const bool has_name = known != traces[wait.process].threads.end() && !known->second.empty();
      lane.process = wait.process;
      lane.id = wait.thread;
      lane.name = named(wait.process, has_name ? known->second : text("thread ", wait.thread));
    }
    const WaitSite& site = report.sites[wait.site];
    lane.bars.push_back({.begin = wait.begin,
                         .end = wait.end,
                         .what = is_driver_own(wait.kind) ? "flow" : "demand",
                         .name = to_string(wait.kind, wait.direction),
                         .place = site.key.place.name(),
                         .range = traces[wait.process].text_of(wait.range),
                         .stream = wait.stream,
                         .site = static_cast<std::int64_t>(wait.site),
                         .is_timed_by_device = !is_driver_own(wait.kind)});
  }
  for (std::size_t i = 0; i < traces.size(); ++i) {
    for (const WorkBody& work : traces[i].work) {
      if (work.end < work.begin || !has_room()) continue;
      const std::uint64_t id = (static_cast<std::uint64_t>(work.device) << 32U) + work.stream;
      Lane& lane = streams[{i, id}];
      lane.is_stream = true;
      lane.process = i;
      lane.id = id;
      if (lane.bars.empty()) lane.name = named(i, text("GPU ", work.device, " stream ", work.stream));
      lane.bars.push_back(
          {.begin = work.begin, .end = work.end, .what = "run", .name = traces[i].text_of(work.name), .place = ""});
    }
  }
  dropped = bars - std::min(bars, most_bars);
  std::vector<Lane> out;
  for (auto* const lanes : {&threads, &streams}) {
    for (auto& [key, lane] : *lanes) {
      lay_out(lane);
      out.push_back(std::move(lane));
    }
  }
  tie_waits(out);
  return out;
}

// Strings of the timeline, each once.
class Names {
 public:
  std::size_t number_of(std::string_view name) {
    const auto [at, is_new] = known_.try_emplace(std::string(name), all_.size());
    if (is_new) all_.push_back(at->first);
    return at->second;
  }
  [[nodiscard]] const std::vector<std::string>& all() const { return all_; }

 private:
  std::map<std::string, std::size_t> known_;
  std::vector<std::string> all_;
};

void write_timeline(std::string& out, const TraceReport& report, const std::vector<ProcessTrace>& traces) {
  std::size_t dropped = 0;
  const std::vector<Lane> lanes = lanes_of(report, traces, dropped);
  if (lanes.empty()) {
    out += "null";
    return;
  }
  std::uint64_t begin = ~std::uint64_t{0};
  std::uint64_t end = 0;
  for (const Lane& lane : lanes) {
    for (const Bar& bar : lane.bars) {
      begin = std::min(begin, bar.begin);
      end = std::max(end, bar.end);
    }
  }
  Names names;
  Names places;
  Fields fields(out);
  fields.add("length_ns", end - begin);
  fields.add("dropped", dropped);
  write_array(fields.key("lanes"), lanes, [&](const Lane& lane) {
    Fields each(out);
    each.add("kind", lane.is_stream ? "stream" : "thread");
    each.add("id", lane.id);
    each.add("name", lane.name);
    each.add("rows", lane.rows);
    Fields bars(each.key("bars"));
    const auto column = [&](std::string_view name, auto&& value_of) {
      write_array(bars.key(name), lane.bars, [&](const Bar& bar) { out += text(value_of(bar)); });
    };
    column("what", [&](const Bar& bar) { return names.number_of(bar.what); });
    column("name", [&](const Bar& bar) { return names.number_of(bar.name); });
    column("detail", [&](const Bar&) { return names.number_of(""); });
    column("range", [&](const Bar& bar) { return names.number_of(bar.range); });
    column("stream", [&](const Bar& bar) { return names.number_of(bar.stream == 0 ? "" : handle_text(bar.stream)); });
    column("place", [&](const Bar& bar) { return places.number_of(bar.place); });
    column("begin_ns", [&](const Bar& bar) { return bar.begin - begin; });
    column("length_ns", [&](const Bar& bar) { return bar.end - bar.begin; });
    column("row", [&](const Bar& bar) { return bar.row; });
    column("site", [&](const Bar& bar) { return bar.site; });
    std::vector<std::size_t> tied;
    for (std::size_t i = 0; i < lane.bars.size(); ++i) {
      if (lane.bars[i].has_waited) tied.push_back(i);
    }
    write_array(bars.key("waited_for"), tied, [&](std::size_t i) {
      out += text("[", i, ",", lane.bars[i].waited_for.first, ",", lane.bars[i].waited_for.second, "]");
    });
  });
  write_strings(fields.key("names"), names.all());
  write_strings(fields.key("places"), places.all());
}

// Nothing is known of it where the GPU's work was not recorded.
void add_idle(Fields& fields, const TraceReport& report, std::uint64_t idle) {
  if (report.gpu) {
    fields.add("device_idle_ns", idle);
  } else {
    fields.key("device_idle_ns") += "null";
  }
}

void write_page_site(std::string& out, const TraceReport& report, const WaitSite& site) {
  const Place& place = site.key.place;
  Fields fields(out);
  fields.add("site", place.name());
  fields.add("function", place.function);
  fields.add("reason", text(to_string(site.kind, site.direction), ", ", site.key.api));
  fields.add_flag("demand", !is_driver_own(site.kind));
  fields.add_or_null("source", place.source);
  fields.add_or_null("rule", site.rule);
  fields.add_or_null("range", site.range);
  fields.add("class", to_string(site.verdict.kind));
  fields.add("evidence", site.verdict.evidence);
  fields.add_or_null("fix", site.verdict.fix);
  write_array(fields.key("may_be"), site.verdict.may_be, [&](const SyncPossibility& each) {
    Fields possibility(out);
    possibility.add("if", each.use);
    possibility.add("fix", each.fix);
  });
  fields.add("calls", site.all());
  fields.add("blocked", site.all() - site.instant);
  fields.add("blocked_ns", site.time + site.warm_up_time);
  fields.add("longest_ns", site.longest);
  add_idle(fields, report, site.cost.idle);
  fields.add("allowed", 0);
  fields.add("waiting", 0);
  write_array(fields.key("stack"), site.stack, [&](const std::string& line) {
    Fields frame(out);
    frame.add("function", line);
    frame.add_flag("tuttis", false);
  });
}

std::string_view word_for(FlameKind kind) {
  switch (kind) {
    case FlameKind::all: return "all";
    case FlameKind::own: return "own";
    case FlameKind::library: return "library";
    case FlameKind::demand: return "demand";
    case FlameKind::flow: return "flow";
  }
  return "";
}

void write_flames(std::string& out, const TraceReport& report) {
  const Flames flames = flames_of(report);
  Fields fields(out);
  fields.add_flag("has_idle", report.gpu.has_value());
  fields.add("left_out", flames.left_out);
  {
    Fields frames((fields.key("frames")));
    const auto column = [&](std::string_view name, auto&& value_of) {
      write_array(frames.key(name), flames.frames,
                  [&](const FlameFrame& each) { journal::append_json_string(out, value_of(each)); });
    };
    column("kind", [](const FlameFrame& each) { return word_for(each.kind); });
    column("function", [](const FlameFrame& each) { return std::string_view(each.function); });
    column("where", [](const FlameFrame& each) { return std::string_view(each.where); });
    column("source", [](const FlameFrame& each) { return std::string_view(each.source); });
  }
  Fields tree(fields.key("tree"));
  const auto column = [&](std::string_view name, auto&& value_of) {
    write_array(tree.key(name), flames.tree, [&](const Flame& each) { out += text(value_of(each)); });
  };
  column("frame", [](const Flame& each) { return each.frame; });
  column("parent", [](const Flame& each) { return each.parent; });
  column("waits", [](const Flame& each) { return each.waits; });
  column("time_ns", [](const Flame& each) { return each.time; });
  column("warm_up_waits", [](const Flame& each) { return each.warm_up_waits; });
  column("warm_up_ns", [](const Flame& each) { return each.warm_up_time; });
  column("idle_ns", [](const Flame& each) { return each.idle; });
  column("site", [](const Flame& each) { return each.site; });
}

void write_sum(std::string& out, const TraceReport& report, bool of_flow) {
  std::uint64_t calls = 0;
  std::uint64_t blocked = 0;
  std::uint64_t time = 0;
  std::uint64_t idle = 0;
  for (const WaitSite& site : report.sites) {
    if (is_driver_own(site.kind) != of_flow) continue;
    calls += site.all();
    blocked += site.all() - site.instant;
    time += site.time + site.warm_up_time;
    idle += site.cost.idle;
  }
  Fields fields(out);
  fields.add("about", of_flow ? "memory, and loading of code" : "what the program waited for");
  fields.add("calls", calls);
  fields.add("blocked", blocked);
  fields.add("blocked_ns", time);
  add_idle(fields, report, idle);
  fields.add("refused", 0);
}

}  // namespace

std::string to_page(const TraceReport& report, const std::vector<ProcessTrace>& traces) {
  std::string json;
  {
    Fields fields(json);
    std::string programs;
    for (const TracedProcess& process : report.processes) programs += text(programs.empty() ? "" : "; ", process.command);
    fields.add("program", programs);
    write_sum(fields.key("demand"), report, false);
    write_sum(fields.key("flow"), report, true);
    fields.key("about_stacks") += "null";
    write_array(fields.key("sites"), report.sites, [&](const WaitSite& site) { write_page_site(json, report, site); });
    write_timeline(fields.key("timeline"), report, traces);
    write_flames(fields.key("flames"), report);
  }
  return detail::page_of(json);
}

}  // namespace tutti::tracing
