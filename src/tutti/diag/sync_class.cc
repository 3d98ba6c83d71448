#include "tutti/diag/sync_class.h"

#include <string_view>
#include <utility>

#include "tutti/base/text.h"

namespace tutti {

namespace {

std::uint64_t stated(const SyncTotals& site, Intent intent) { return site.stated[static_cast<std::size_t>(intent)]; }

std::string all_calls(const SyncTotals& site) {
  return site.calls == 1 ? std::string("the call") : text("each of the ", site.calls, " calls");
}

std::string times(const SyncTotals& site) { return text(site.calls, site.calls == 1 ? " time" : " times"); }

SyncVerdict classify_flow(const SyncTotals& site) {
  switch (site.reason) {
    case SyncReason::pageable_staging:
      return {SyncClass::pageable,
              "the host's buffer is not pinned, so it was copied to pinned memory first and the host waited for room",
              "pin() the buffer, or make it with pinned memory"};
    case SyncReason::module_load:
      return {SyncClass::warm_up, text("code was loaded, ", times(site)), "run one step before the part that must be quick"};
    case SyncReason::memory_mapping:
      return {SyncClass::warm_up, text("the pool grew to a size it had not had before, ", times(site)),
              "let the pool keep what it has: the first step makes it grow"};
    case SyncReason::memory_trimming:
      return {SyncClass::flow_control, text("the pool gave memory back to the device, ", times(site)),
              "let the pool keep what it has: it serves the next request from it"};
    case SyncReason::memory_remapping:
      return {SyncClass::flow_control, text("the pool mapped memory again that it had given back before, ", times(site)),
              "let the pool keep what it has: call trim_memory() less often"};
    case SyncReason::joining:
      return {SyncClass::warm_up, "the process joined its job, and waited until the coordinator had taken it in",
              "call join_job() before the part that must be quick"};
    case SyncReason::back_pressure: return {SyncClass::flow_control, "the host was as far ahead of the stream as it may be", ""};
    case SyncReason::memory_pressure:
      return {SyncClass::flow_control, "memory was short, and the host waited until work in flight gave some back",
              "hold fewer tensors at a time, or raise the device's memory limit"};
    default: return {SyncClass::flow_control, text("the runtime waited: ", to_string(site.reason)), ""};
  }
}

constexpr const char* decide_on_device = "where(), cond() and while_loop() decide on the device";
constexpr const char* read_later = "read_async() here, and get() or try_get() it a step later";
constexpr const char* get_later = "get() it later, after more work was enqueued, or try_get(), which never blocks";

bool is_get(const SyncTotals& site) { return site.sent_for != 0; }

std::vector<SyncPossibility> possibilities(const SyncTotals& site) {
  constexpr SyncPossibility keep{"other code then uses the memory", "keep it and say why with AllowSync"};
  if (is_explicit(site.reason)) {
    return {{"it stands between ops", "remove it: ops are ordered already (under ManualOrder by Stream::wait)"},
            {"a read of the result follows", "remove it: the read waits itself"},
            {"it ends something timed", "say so with Intent::measure, or use bench()"},
            keep};
  }
  if (site.reason == SyncReason::barrier)
    return {{"it stands between collectives", "remove it: a collective waits for the other processes itself"}, keep};
  if (site.reason != SyncReason::value_read) return {};
  std::vector<SyncPossibility> out{{"the value is only printed, logged or stored", is_get(site) ? get_later : read_later},
                                   {"it decides what the host does", decide_on_device},
                                   {"it goes into other ops", "pass them the tensor, which stays on the device"}};
  if (site.in_a_row != 0 && !is_get(site)) out.push_back({"it is read with others", "read them with one read_all()"});
  return out;
}

std::string refused(const SyncTotals& site) {
  return text("refused ", site.refused, site.refused == 1 ? " time" : " times", ", never let through");
}

// What would have to be known, what was seen in part, and what to do in each case.
SyncVerdict unknown(const SyncTotals& site) {
  if (site.calls == 0) return {SyncClass::unknown, refused(site), "", possibilities(site)};
  std::string seen;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count != 0) seen += text(seen.empty() ? "" : ", ", count, " of ", site.calls, " calls ", what);
  };
  add(site.nothing_queued, "found nothing queued");
  add(site.already_synced, "were redundant");
  add(site.in_a_row, "followed a read that could have read this value too");
  for (const Intent intent : {Intent::print, Intent::log, Intent::store, Intent::branch, Intent::measure})
    add(stated(site, intent), text("said \"", to_string(intent), "\"").c_str());
  const char* missing = "what the value was used for is not known; an Intent at the call would say";
  if (is_explicit(site.reason)) missing = "what the sync was for is not known; SyncOptions::intent would say";
  if (site.reason == SyncReason::barrier) missing = "what the program needed all processes to have done is not known";
  return {SyncClass::unknown, text(missing, seen.empty() ? "" : "; ", seen), "", possibilities(site)};
}

// The op that counted tells which functions it may have been.
SyncVerdict dynamic_shape(const SyncTotals& site) {
  const std::string_view op = site.several_ops ? "" : site.op;
  std::string fix = "the form with a stated size does not sync: ";
  if (op == "CountNonzero") {
    fix += "nonzero(x, {.size = n}), masked_select(x, mask, {.size = n}); if only the count is used, count_nonzero(x)";
  } else if (op == "UniqueCount") {
    fix += "unique_values(x, {.size = n}), and likewise its siblings";
  } else if (op == "Sum") {
    fix += "repeat_interleave(x, repeats, {.output_size = n})";
  } else {
    fix +=
        ".size for nonzero, masked_select and unique_*, .output_size for repeat_interleave; if only the count is used, "
        "count_nonzero()";
  }
  std::string evidence = text("the shape of a result depends on data that ", op.empty() ? "an op" : op, " counted");
  if (site.calls == 0) evidence += "; " + refused(site);
  return {SyncClass::dynamic_shape, std::move(evidence), std::move(fix)};
}

}  // namespace

const char* to_string(SyncClass kind) noexcept {
  switch (kind) {
    case SyncClass::no_op: return "no-op";
    case SyncClass::redundant: return "redundant";
    case SyncClass::coalescible: return "coalescible";
    case SyncClass::deferrable: return "deferrable";
    case SyncClass::pageable: return "pageable";
    case SyncClass::dynamic_shape: return "dynamic shape";
    case SyncClass::control_flow: return "control flow";
    case SyncClass::measurement: return "measurement";
    case SyncClass::warm_up: return "warm-up";
    case SyncClass::flow_control: return "flow control";
    case SyncClass::unknown: return "unknown";
  }
  return "unknown";
}

SyncVerdict classify(const SyncTotals& site) {
  if (!is_demand(site.reason)) return classify_flow(site);
  if (site.calls == 0) return site.reason == SyncReason::data_dependent_shape ? dynamic_shape(site) : unknown(site);
  const bool is_read = site.reason == SyncReason::value_read;
  if (site.nothing_queued == site.calls) {
    return {SyncClass::no_op,
            is_read ? text(all_calls(site), " read a value the host had made itself")
                    : text(all_calls(site), " asked for streams that had never been given work"),
            is_read ? "" : "remove it"};
  }
  if (site.already_synced == site.calls) {
    return {SyncClass::redundant,
            text(all_calls(site), " asked for a point the host had already synced to, at ", site.synced_before_at.to_string()),
            is_read ? "" : "remove it: the earlier sync is enough"};
  }
  if (site.reason == SyncReason::data_dependent_shape) return dynamic_shape(site);
  if (stated(site, Intent::measure) == site.calls)
    return {SyncClass::measurement, text(all_calls(site), " ended something that was timed"), ""};
  // What an explicit sync waits for is read by a call of its own.
  const char* const what = is_read ? " read a value that " : " waited for a value that ";
  constexpr const char* read_waits = "remove it: the read waits itself";
  if (stated(site, Intent::branch) == site.calls) {
    return {SyncClass::control_flow, text(all_calls(site), what, "decides what the host does"),
            is_read ? decide_on_device : read_waits};
  }
  if (stated(site, Intent::print) + stated(site, Intent::log) + stated(site, Intent::store) == site.calls) {
    return {SyncClass::deferrable, text(all_calls(site), what, "is only printed, logged or stored"),
            !is_read       ? read_waits
            : is_get(site) ? get_later
                           : read_later};
  }
  if (site.in_a_row == site.calls) {
    return {
        SyncClass::coalescible,
        text(all_calls(site), " read a value that was already enqueued when the thread read another, at ",
             site.previous_read_at.to_string()),
        is_get(site) ? "stack() both on the device, and read_async() them as one" : "one read_all() reads both with one sync"};
  }
  return unknown(site);
}

}  // namespace tutti
