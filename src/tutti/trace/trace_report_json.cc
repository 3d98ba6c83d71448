#include <algorithm>
#include <string>
#include <string_view>

#include "tutti/base/text.h"
#include "tutti/base/version.h"
#include "tutti/journal/json_text.h"
#include "tutti/trace/json_fields.h"
#include "tutti/trace/trace_compare.h"
#include "tutti/trace/trace_report.h"

namespace tutti::tracing {

namespace {

const char* word_for(HostMemory memory) {
  return memory == HostMemory::pinned ? "pinned" : memory == HostMemory::pageable ? "pageable" : "";
}

const char* word_for(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::to_device: return "to device";
    case CopyDirection::to_host: return "to host";
    case CopyDirection::between_devices: return "between devices";
    case CopyDirection::on_host: return "on the host";
    default: return "";
  }
}

const char* word_for(lint::Use use) {
  switch (use) {
    case lint::Use::told: return "told";
    case lint::Use::computes: return "computes";
    case lint::Use::size: return "size";
    case lint::Use::decides: return "decides";
    default: return "";
  }
}

void write_steps(Fields& fields, const std::optional<Steps>& steps) {
  if (!steps) {
    fields.key("steps") += "null";
    return;
  }
  Fields each((fields.key("steps")));
  each.add("count", steps->times.size());
  each.add("warm_up", steps->warm_up);
  each.add("median_ns", steps->quantile(0.5));
  each.add("p10_ns", steps->quantile(0.1));
  each.add("p90_ns", steps->quantile(0.9));
  if (steps->site) {
    each.add("site", *steps->site);
  } else {
    each.key("site") += "null";
  }
}

void write_gpu(Fields& fields, const std::optional<GpuCost>& gpu) {
  if (!gpu) {
    fields.key("gpu") += "null";
    return;
  }
  std::string& out = fields.key("gpu");
  Fields each(out);
  each.add("time_ns", gpu->time);
  each.add("busy_ns", gpu->busy());
  each.add("device_time_ns", gpu->device_time);
  write_array(each.key("devices"), gpu->devices, [&](const DeviceTime& device) {
    Fields one(out);
    one.add("device", device.device);
    one.add("busy_ns", device.busy);
  });
  each.add("simulated_ns", gpu->simulated);
  each.add("gain_ns", gpu->gain);
  each.add_flag("host_is_limit", is_limited_by_host(gpu->busiest, gpu->simulated - std::min(gpu->simulated, gpu->gain)));
}

void write_site(std::string& out, const TraceReport& report, const WaitSite& site) {
  Fields fields(out);
  const Place& place = site.key.place;
  fields.add("file", place.file);
  fields.add("line", place.line);
  fields.add("function", place.function);
  fields.add_or_null("source", place.source);
  fields.add_or_null("expression", place.expression);
  fields.add("wait", to_string(site.kind, site.direction));
  fields.add("api", site.key.api);
  fields.add_or_null("direction", word_for(site.direction));
  fields.add_or_null("memory", word_for(site.memory));
  fields.add("bytes", site.bytes);
  write_strings(fields.key("threads"), {site.threads.begin(), site.threads.end()});
  std::vector<std::string> streams;
  for (const std::uint64_t handle : site.streams) streams.push_back(handle_text(handle));
  write_strings(fields.key("streams"), streams);
  fields.add("waits", site.waits);
  fields.add_thousandths("per_step", waits_per_step(report, site));
  fields.add("time_ns", site.time);
  fields.add("warm_up_waits", site.warm_up);
  fields.add("warm_up_time_ns", site.warm_up_time);
  fields.add("longest_ns", site.longest);
  fields.add("on_other_thread", site.of_main_thread);
  fields.add("idle_ns", site.cost.idle);
  fields.add("gain_ns", site.cost.gain);
  write_array(fields.key("by_process"), site.shares, [&](const SiteShare& share) {
    Fields each(out);
    each.add("pid", report.processes[share.process].pid);
    each.add("waits", share.waits);
    each.add("warm_up_waits", share.warm_up);
    each.add("time_ns", share.time);
    each.add("idle_ns", share.cost.idle);
    each.add("gain_ns", share.cost.gain);
  });
  fields.add("class", to_string(site.verdict.kind));
  fields.add("evidence", site.verdict.evidence);
  fields.add_or_null("fix", site.verdict.fix);
  write_array(fields.key("may_be"), site.verdict.may_be, [&](const SyncPossibility& each) {
    Fields possibility(out);
    possibility.add("use", each.use);
    possibility.add("fix", each.fix);
  });
  fields.add_or_null("rule", site.rule);
  fields.add_or_null("use", word_for(site.use.use));
  fields.add("use_line", site.use.line);
  fields.add_or_null("range", site.range);
  write_strings(fields.key("stack"), site.stack);
}

}  // namespace

std::string TraceReport::to_json() const {
  std::string out;
  {
    Fields fields(out);
    fields.add("tutti", version());
    write_array(fields.key("processes"), processes, [&](const TracedProcess& process) {
      Fields each(out);
      each.add("pid", process.pid);
      each.add("command", process.command);
      each.add_or_null("python", process.python);
      each.add("calls", process.waits);
      each.add("time_ns", process.time);
      each.add_flag("has_ended", process.has_ended);
      write_strings(each.key("notes"), process.notes);
      const auto index = static_cast<std::size_t>(&process - processes.data());
      write_steps(each, process_steps[index]);
      write_gpu(each, process_gpu[index]);
    });
    write_strings(fields.key("unread"), unread);
    write_steps(fields, steps);
    write_gpu(fields, gpu);
    fields.add("host_callbacks", host_callbacks);
    write_array(fields.key("sites"), sites, [&](const WaitSite& site) { write_site(out, *this, site); });
  }
  return out + "\n";
}

}  // namespace tutti::tracing
