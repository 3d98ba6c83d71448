#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/base/text.h"
#include "tutti/base/version.h"
#include "tutti/diag/lanes.h"
#include "tutti/diag/sync_report.h"
#include "tutti/journal/json_text.h"

namespace tutti {

namespace {

using journal::EventKind;

// An object while it lives; the destructor closes it.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  ~JsonObject() { out_ += '}'; }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  std::string& key(std::string_view name) {
    if (!is_first_) out_ += ',';
    is_first_ = false;
    return out_ += text('"', name, "\":");
  }
  void add(std::string_view name, std::string_view value) { journal::append_json_string(key(name), value); }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  void add(std::string_view name, Number value) {
    key(name) += text(value);
  }
  void add_or_null(std::string_view name, std::string_view value) {
    if (value.empty()) {
      key(name) += "null";
    } else {
      add(name, value);
    }
  }

 private:
  std::string& out_;
  bool is_first_ = true;
};

template <class Items, class Write>
void write_array(std::string& out, const Items& items, Write&& write) {
  out += '[';
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) out += ',';
    is_first = false;
    write(item);
  }
  out += ']';
}

// Strings that many bars share, by number.
class Names {
 public:
  std::size_t number_of(const char* name) {
    const std::string_view known = name == nullptr ? "" : name;
    const auto [found, is_new] = numbers_.try_emplace(known, numbers_.size());
    if (is_new) all_.push_back(known);
    return found->second;
  }
  std::size_t number_of(Site site) {
    const auto [found, is_new] = places_.try_emplace({site.file(), site.line()}, all_places_.size());
    if (is_new) all_places_.push_back(site.to_string());
    return found->second;
  }
  [[nodiscard]] const std::vector<std::string_view>& names() const { return all_; }
  [[nodiscard]] const std::vector<std::string>& places() const { return all_places_; }

 private:
  std::map<std::string_view, std::size_t> numbers_;
  std::vector<std::string_view> all_;
  std::map<std::pair<std::string_view, std::uint32_t>, std::size_t> places_;
  std::vector<std::string> all_places_;
};

const char* word_for(EventKind kind) {
  switch (kind) {
    case EventKind::enqueue: return "enqueue";
    case EventKind::run: return "run";
    case EventKind::sync: return "demand";
    case EventKind::throttle: return "flow";
    case EventKind::roll_call: return "roll-call";
    case EventKind::exchange: return "exchange";
    default: return "scope";
  }
}

void write_sum(std::string& out, const SyncSum& sum) {
  JsonObject object(out);
  object.add("sites", sum.sites);
  object.add("calls", sum.calls);
  object.add("blocked", sum.blocked);
  object.add("refused", sum.refused);
  object.add("blocked_ns", sum.blocked_time);
  object.add("device_idle_ns", sum.device_idle);
}

void write_frame(std::string& out, const NativeFrame& frame) {
  JsonObject object(out);
  object.add_or_null("function", frame.function);
  object.add_or_null("file", frame.file);
  object.add("line", frame.line);
  object.add_or_null("module", frame.module);
  object.add("offset", frame.offset);
  object.add("tuttis", frame.is_tuttis);
}

void write_possibility(std::string& out, const SyncPossibility& each) {
  JsonObject object(out);
  object.add("if", std::string_view(each.use));
  object.add("fix", std::string_view(each.fix));
}

void write_site(std::string& out, const ReportedSync& site) {
  const auto& [totals, verdict, stack] = site;
  JsonObject object(out);
  object.add("site", totals.site.to_string());
  object.add("file", std::string_view(totals.site.file()));
  object.add("line", totals.site.line());
  object.add("column", totals.site.column());
  object.add("function", std::string_view(totals.site.function()));
  object.add("reason", std::string_view(to_string(totals.reason)));
  object.add("demand", is_demand(totals.reason));
  object.add("class", std::string_view(to_string(verdict.kind)));
  object.add("evidence", std::string_view(verdict.evidence));
  object.add_or_null("fix", verdict.fix);
  write_array(object.key("may_be"), verdict.may_be, [&](const SyncPossibility& each) { write_possibility(out, each); });
  object.add("calls", totals.calls);
  object.add("blocked", totals.blocked);
  object.add("timed_out", totals.timed_out);
  object.add("refused", totals.refused);
  object.add("waiting", totals.waiting);
  object.add("blocked_ns", totals.blocked_time);
  object.add("longest_ns", totals.longest);
  object.add("device_idle_ns", totals.device_idle);
  object.add("bytes", totals.bytes);
  object.add("deepest_queue", totals.deepest_queue);
  object.add_or_null("op", totals.op);
  object.add("several_ops", totals.several_ops);
  object.add_or_null("device", totals.device);
  object.add("stream", index_of(totals.stream));
  object.add("several_streams", totals.several_streams);
  object.add("thread", totals.thread);
  object.add("several_threads", totals.several_threads);
  object.add("allowed", totals.allowed);
  object.add_or_null("allowed_because", totals.allowed_because);
  write_array(object.key("stack"), stack, [&](const NativeFrame& frame) { write_frame(out, frame); });
}

void write_lane(std::string& out, const detail::Lane& lane, Nanoseconds origin, Names& names) {
  JsonObject object(out);
  object.add("kind", std::string_view(lane.is_stream ? "stream" : "thread"));
  object.add("id", lane.id);
  object.add("name", lane.name);
  object.add("rows", lane.rows);
  JsonObject bars(object.key("bars"));
  const auto column = [&](std::string_view name, auto&& value_of) {
    write_array(bars.key(name), lane.bars, [&](const detail::Bar& bar) { out += text(value_of(bar)); });
  };
  column("what", [&](const detail::Bar& bar) { return names.number_of(word_for(bar.event->kind)); });
  column("name", [&](const detail::Bar& bar) { return names.number_of(bar.event->name); });
  column("detail", [&](const detail::Bar& bar) { return names.number_of(bar.event->detail); });
  column("place", [&](const detail::Bar& bar) { return names.number_of(bar.event->site); });
  column("begin_ns", [&](const detail::Bar& bar) { return bar.event->begin - origin; });
  column("length_ns", [&](const detail::Bar& bar) { return bar.event->end - bar.event->begin; });
  column("row", [&](const detail::Bar& bar) { return bar.row; });
  column("site", [&](const detail::Bar& bar) { return bar.site ? static_cast<std::int64_t>(*bar.site) : -1; });
  std::vector<std::size_t> tied;
  for (std::size_t i = 0; i < lane.bars.size(); ++i) {
    if (lane.bars[i].waited_for) tied.push_back(i);
  }
  write_array(bars.key("waited_for"), tied, [&](std::size_t i) {
    out += text("[", i, ",", lane.bars[i].waited_for->lane, ",", lane.bars[i].waited_for->bar, "]");
  });
}

void write_timeline(std::string& out, const SyncReport& report) {
  const detail::Lanes all = detail::lay_out(report);
  if (all.lanes.empty()) {
    out += "null";
    return;
  }
  Names names;
  JsonObject object(out);
  object.add("length_ns", all.end - all.begin);
  object.add("dropped", all.dropped);
  write_array(object.key("lanes"), all.lanes, [&](const detail::Lane& lane) { write_lane(out, lane, all.begin, names); });
  const auto quote = [&](std::string_view name) { journal::append_json_string(out, name); };
  write_array(object.key("names"), names.names(), quote);
  write_array(object.key("places"), names.places(), quote);
}

}  // namespace

std::string SyncReport::to_json() const {
  std::string out;
  {
    JsonObject object(out);
    object.add("tutti", std::string_view(version()));
    object.add("program", std::string_view(program));
    write_sum(object.key("demand"), demand);
    write_sum(object.key("flow"), flow);
    object.add_or_null("about_stacks", about_stacks);
    write_array(object.key("sites"), sites, [&](const ReportedSync& site) { write_site(out, site); });
    write_timeline(object.key("timeline"), *this);
  }
  return out += '\n';
}

}  // namespace tutti
