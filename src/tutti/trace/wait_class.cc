#include "tutti/trace/wait_class.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "tutti/base/text.h"
#include "tutti/trace/trace_report.h"

namespace tutti::tracing {

namespace {

bool contains(std::string_view whole, std::string_view part) { return whole.find(part) != std::string_view::npos; }

bool is_torch(const WaitSite& site) {
  return std::any_of(site.native_names.begin(), site.native_names.end(),
                     [](const std::string& name) { return contains(name, "at::native::") || contains(name, "c10::"); });
}

bool is_jax(const WaitSite& site) {
  return site.kind == WaitKind::sleep && std::any_of(site.stack.begin(), site.stack.end(), [](const std::string& line) {
           return contains(line, "/jax/") || contains(line, "jax_common") || contains(line, "xla_");
         });
}

// A thread that slept may have done so for a value or for the end of a computation: the line tells.
bool reads_value(const WaitSite& site) {
  if (site.direction == CopyDirection::to_host) return true;
  return site.kind == WaitKind::sleep && !site.rule.empty() && site.rule != "jax-block" && site.rule != "synchronize";
}

// The fix in the words of the framework.
const char* in_words_of(const WaitSite& site, const char* torch, const char* jax, const char* other) {
  return is_torch(site) ? torch : is_jax(site) ? jax : other;
}

std::string all_waits(const WaitSite& site) {
  return site.all() == 1 ? std::string("the wait") : text("each of the ", site.all(), " waits");
}

using lint::Use;

// What a line does with the value of an expression in it, as far as its text tells, for lines that are not Python and for builds
// without the linter. A comment is not looked at.
Use use_by_text(const Place& place) {
  std::string line = place.source;
  if (const std::size_t comment = line.find("  #"); comment != std::string::npos) line.resize(comment);
  const std::size_t at = place.expression.empty() ? std::string::npos : line.find(place.expression);
  const std::string_view before = std::string_view(line).substr(0, at == std::string::npos ? line.size() : at);
  constexpr std::array deciding{"if ", "elif ", "while ", "assert "};
  if (std::any_of(deciding.begin(), deciding.end(), [&](const char* word) { return line.starts_with(word); }))
    return Use::decides;
  if (contains(before, " if ") && !contains(before, " else ")) return Use::decides;
  constexpr std::array telling{"print(",   "logger.",      "logging.",    "log(", "write(",
                               ".append(", "set_postfix(", "add_scalar(", " += "};
  if (std::any_of(telling.begin(), telling.end(), [&](const char* word) { return contains(before, word); })) return Use::told;
  return Use::unknown;
}

// An op whose result's shape the device counts.
struct CountingOp {
  const char* in_name;
  const char* title;
  const char* fix;
};
constexpr std::array counting_ops{
    CountingOp{"nonzero", "nonzero", "torch.nonzero_static(x, size=n), or torch.where() with three arguments, has a fixed shape"},
    CountingOp{"masked_select", "a selection by a mask", "torch.where(mask, x, other) keeps the shape"},
    CountingOp{"unique", "unique", "count on the device with a fixed number of bins, or do this once before the loop"},
    CountingOp{"repeat_interleave", "repeat_interleave", "give it output_size="},
    CountingOp{"bincount", "bincount", "scatter_add_() into a tensor of a fixed size does not wait"},
};

const CountingOp* counting_op(const WaitSite& site) {
  for (const CountingOp& op : counting_ops) {
    for (const std::string& name : site.native_names) {
      if (contains(name, text("::", op.in_name)) || contains(name, text("::_", op.in_name))) return &op;
    }
  }
  return nullptr;
}

SyncVerdict pageable(const WaitSite& site) {
  const bool to_device = site.direction == CopyDirection::to_device;
  std::string fix;
  if (is_torch(site)) {
    fix = to_device ? "pin the host's tensor once (pin_memory=True in the DataLoader, or .pin_memory()) and copy it with "
                      "non_blocking=True"
                    : "copy into a pinned tensor with non_blocking=True, and wait for an event before it is read";
  } else {
    fix = "cudaMallocHost() the buffer, or cudaHostRegister() it once, and copy it with cudaMemcpyAsync()";
  }
  return {SyncClass::pageable,
          text(all_waits(site), " copied ", to_device ? "from" : "to", " pageable memory, up to ", human_bytes(site.bytes),
               ": the driver stages such a copy and holds up the host meanwhile"),
          fix};
}

SyncVerdict of_memory(const WaitSite& site) {
  const char* const what = site.kind == WaitKind::release       ? "device memory was freed"
                           : site.kind == WaitKind::host_memory ? "pinned memory was made or freed"
                           : site.kind == WaitKind::resource    ? "a resource of the driver was made or given back"
                                                                : "device memory was allocated or mapped";
  if (site.waits == 0) {
    return {SyncClass::warm_up,
            text(what, ", ", site.warm_up, site.warm_up == 1 ? " time" : " times", ", before the steady steps only"),
            "run one step before the part that must be quick"};
  }
  return {SyncClass::flow_control, text(what, ", ", site.all(), site.all() == 1 ? " time" : " times"),
          site.kind == WaitKind::host_memory ? "keep the buffer and use it again"
          : site.kind == WaitKind::resource  ? "make it once, before the steps, and keep it"
                                             : "keep the memory between steps, or take it from a pool (cudaMallocAsync)"};
}

std::vector<SyncPossibility> possibilities(const WaitSite& site) {
  if (reads_value(site)) {
    return {{"the value is only printed, logged or stored", "keep it on the device and read it some steps later"},
            {"it decides what the host does", "decide on the device (torch.where, lax.cond), or by the value of the step before"},
            {"it goes into other ops", "pass them the tensor, which stays on the device"}};
  }
  if (is_jax(site)) {
    return {{"it stands between computations", "remove it: JAX orders them by their data"},
            {"it ends something timed", "time many steps, and wait once behind them"},
            {"it bounds how far the host runs ahead", "wait for the result of some steps before instead"}};
  }
  return {{"it stands between ops of one stream", "remove it: they are in order already"},
          {"another stream uses the result", "cudaStreamWaitEvent() orders streams without the host"},
          {"a copy to the host follows", "remove it: that copy waits itself"},
          {"it ends something timed", "time with events, and wait once behind the loop"}};
}

}  // namespace

SyncVerdict classify(const WaitSite& site, const std::vector<WaitSite>& sites) {
  if (site.kind == WaitKind::loading) {
    return {SyncClass::warm_up, text("code was loaded or a context set up, ", site.all(), site.all() == 1 ? " time" : " times"),
            "run one step before the part that must be quick; CUDA_MODULE_LOADING=EAGER loads all at the start"};
  }
  if (site.kind == WaitKind::door)
    return {SyncClass::unknown, "a wait of tutti's own: `tutti run -- PROGRAM` tells its class and the fix", ""};
  if (is_driver_own(site.kind)) return of_memory(site);
  const bool is_plain = site.direction == CopyDirection::none && site.kind != WaitKind::sleep;
  if (is_plain && site.instant == site.all()) {
    return {SyncClass::no_op, text(all_waits(site), " came back at once: nothing was running that it could have waited for"),
            "remove it"};
  }
  if (const CountingOp* op = counting_op(site); op != nullptr && site.direction == CopyDirection::to_host)
    return {SyncClass::dynamic_shape, text("the shape of a result depends on data: ", op->title, " reads a count"), op->fix};
  if (site.direction == CopyDirection::to_device) {
    if (site.memory == HostMemory::pageable) return pageable(site);
    return {SyncClass::redundant,
            text(all_waits(site), " was for a copy to the device from pinned memory: what uses it there comes after it anyway"),
            is_torch(site) ? "copy with non_blocking=True" : "remove it"};
  }
  const bool is_read = reads_value(site);
  // The line of another thread says nothing of this one's values.
  Use use = site.use.use;
  if (!site.was_read && site.of_main_thread == 0) use = use_by_text(site.key.place);
  const bool is_elsewhere = site.use.line != 0 && site.use.line != site.key.place.line;
  const std::string line = is_elsewhere ? text("line ", site.use.line) : std::string("the line");
  if (use == Use::decides) {
    return {SyncClass::control_flow, line + " decides by the value what the host does",
            in_words_of(site, "decide on the device with torch.where(), or by the value of the step before",
                        "decide on the device with jnp.where() or lax.cond(), or by the value of the step before",
                        "decide on the device, or by the value of the step before")};
  }
  if (is_read && use == Use::told) {
    return {SyncClass::deferrable,
            is_elsewhere ? text("the value is only printed, logged or stored (line ", site.use.line, ")")
                         : std::string("the line only prints, logs or stores the value"),
            in_words_of(site, "keep the tensor (.detach()) and read it some steps later, or all of them at once at the end",
                        "keep the array and read it some steps later; copy_to_host_async() starts the copy meanwhile",
                        "copy it to pinned memory, and read it some steps later")};
  }
  if (is_read && use == Use::size) {
    return {SyncClass::dynamic_shape, line + " makes the value a size: the shape of a result depends on data",
            "use a size that the host knows (a bound, padding), and a mask on the device"};
  }
  if (is_read && site.bytes <= most_small_value && site.in_a_row == site.all()) {
    return {SyncClass::coalescible,
            text(all_waits(site), " began just after the one at ", sites[site.previous].key.place.name(),
                 " had ended: both could be one"),
            in_words_of(site, "torch.stack() the values and read them once", "jax.device_get() both at once",
                        "copy both and wait once")};
  }
  if (is_read && site.memory == HostMemory::pageable && site.bytes > most_small_value && !is_jax(site)) return pageable(site);
  if (is_read && use == Use::computes) {
    return {SyncClass::redundant, line + " gives the value to an op, which would have taken the tensor",
            "pass the tensor, which stays on the device"};
  }
  const char* missing = is_read ? "what the value is used for is not told by the line"
                        : site.kind == WaitKind::sleep
                            ? "the thread slept until a host callback; what for is not told by the line"
                            : "what it waits for is not told by the call";
  std::string seen;
  if (site.instant != 0) seen = text("; ", site.instant, " of ", site.all(), " came back at once");
  return {SyncClass::unknown, missing + seen, "", possibilities(site)};
}

}  // namespace tutti::tracing
