#include "tutti/place/placement.h"

#include <mutex>
#include <set>
#include <tuple>

#include "tutti/base/error.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/journal/journal.h"
#include "tutti/place/scope.h"
#include "tutti/place/settings.h"

namespace tutti {

namespace {

// Plain pointers to things that live for ever: cheap enough to keep for every op.
struct LastPlacement {
  const char* op = "";
  const char* requested = "";
  const LogicalDevice* chosen = nullptr;
  PlacementReason reason = PlacementReason::automatic;
  unsigned copies = 0;
  std::uint64_t bytes = 0;
  Site site;
};
thread_local LastPlacement last;

LogicalDevice* first_with_kernel(const Runtime& instance, KernelMask kernels, const DeviceSpec* spec) {
  for (LogicalDevice* device : instance.devices()) {
    if (device->has(kernels) && (spec == nullptr || device->fits(*spec))) return device;
  }
  return nullptr;
}

bool exists(const Runtime& instance, const DeviceSpec& spec) {
  for (const LogicalDevice* device : instance.devices()) {
    if (device->fits(spec)) return true;
  }
  return false;
}

std::string full_name(const DeviceSpec& spec) {
  DeviceSpec full = spec;
  full.job = spec.job.value_or("localhost");
  full.replica = spec.replica.value_or(0);
  full.task = spec.task.value_or(0);
  return to_string(full);
}

void warn_once(Site site, const std::string& line) {
  static std::mutex& mutex = *new std::mutex;
  static auto& said = *new std::set<std::tuple<const char*, std::uint32_t, std::uint32_t>>;
  const std::lock_guard lock(mutex);
  if (said.emplace(site.file(), site.line(), site.column()).second) log(LogLevel::warning, line);
}

// The one that an op goes to that is tied to none.
bool is_usual(const LogicalDevice& device, Site site) {
  const detail::ScopeEntry* scope = detail::thread_state.scope;
  return scope != nullptr && !scope->is_automatic ? device.fits(scope->spec) : &device == runtime(site).devices().front();
}

// What a log line adds where the device is not the one that the scope, or the lowest index, gives.
std::string rule_in_log(const LogicalDevice& device, PlacementReason reason, Site site) {
  switch (reason) {
    case PlacementReason::no_kernel:
    case PlacementReason::soft_placement: return text(" (", to_string(reason), ": ", last.requested, ")");
    case PlacementReason::variable:
    case PlacementReason::inputs: return is_usual(device, site) ? "" : text(" (", to_string(reason), ")");
    default: return "";
  }
}

[[noreturn]] void raise_no_kernel(const Runtime& instance, OpName op, KernelMask kernels, Site site) {
  std::string have;
  for (std::size_t kind = 0; kind < backend_kinds; ++kind) {
    if ((kernels >> kind & 1U) != 0) have += text(have.empty() ? "" : ", ", to_string(static_cast<BackendKind>(kind)));
  }
  throw InvalidArgument(text("no visible device can run op ", op.function, ": it has kernels for [", have,
                             "], and there are: ", device_list(instance)),
                        site);
}

// The slow paths: no kernel where it was asked for, or no such device.
std::pair<LogicalDevice*, PlacementReason> fall_back(const Runtime& instance, OpName op, KernelMask kernels,
                                                     const detail::ScopeEntry& scope, Site site) {
  const DeviceSpec& spec = scope.spec;
  if (exists(instance, spec)) {
    if (instance.cpu().has(kernels)) return {&instance.cpu(), PlacementReason::no_kernel};
    LogicalDevice* any = get_soft_device_placement() ? first_with_kernel(instance, kernels, nullptr) : nullptr;
    if (any == nullptr) raise_no_kernel(instance, op, kernels, site);
    return {any, PlacementReason::soft_placement};
  }
  if (!get_soft_device_placement()) {
    throw UnknownDevice(text(full_name(spec), " unknown device, asked for by op ", op.function, " in the scope at ",
                             scope.site.to_string(), "; visible devices: ", device_list(instance), how_to_have(instance, spec),
                             ". set_soft_device_placement(true) would choose an existing one"),
                        site);
  }
  LogicalDevice* best = first_with_kernel(instance, kernels, nullptr);
  if (best == nullptr) raise_no_kernel(instance, op, kernels, site);
  warn_once(site, text("op ", op.row, " at ", site.to_string(), " asked for ", full_name(spec),
                       ", which does not exist; soft placement put it on ", best->name()));
  return {best, PlacementReason::soft_placement};
}

}  // namespace

const char* to_string(PlacementReason reason) noexcept {
  switch (reason) {
    case PlacementReason::automatic: return "automatic";
    case PlacementReason::scope: return "device scope";
    case PlacementReason::variable: return "its variable is there";
    case PlacementReason::inputs: return "all inputs are there";
    case PlacementReason::no_kernel: return "no kernel on the device asked for";
    case PlacementReason::soft_placement: return "soft placement";
    case PlacementReason::explicit_copy: return "explicit copy";
  }
  return "unknown";
}

PlacementRecord last_placement() {
  return {last.op,    last.requested, last.chosen != nullptr ? last.chosen->name() : "", last.reason, last.copies,
          last.bytes, last.site};
}

void record_placement(const char* op, LogicalDevice& device, PlacementReason reason, Site site) {
  last = {op, detail::thread_state.scope != nullptr ? detail::thread_state.scope->requested : "", &device, reason, 0, 0, site};
  if (get_log_device_placement()) [[unlikely]]
    log_requested(text("Executing op ", op, " in device ", device.name(), rule_in_log(device, reason, site)));
  if (journal::is_recording()) [[unlikely]] {
    const Nanoseconds at = now();
    journal::record(
        {.kind = journal::EventKind::place, .name = op, .detail = device.name().c_str(), .site = site, .begin = at, .end = at});
  }
}

LogicalDevice& place_op(Runtime& instance, OpName op, KernelMask kernels, const PlacementTies& ties, Site site) {
  LogicalDevice* chosen = nullptr;
  PlacementReason reason = PlacementReason::automatic;
  detail::ScopeEntry* scope = detail::thread_state.scope;
  if (scope != nullptr && scope->is_left.load(std::memory_order_relaxed)) [[unlikely]]
    scope = detail::without_left(detail::thread_state.scope);
  if (ties.variable != nullptr && ties.variable->has(kernels)) {
    chosen = ties.variable;
    reason = PlacementReason::variable;
  } else if (scope == nullptr || scope->is_automatic) {
    LogicalDevice* const holder = ties.inputs != nullptr ? &instance.of(*ties.inputs) : nullptr;
    if (holder != nullptr && !holder->is_cpu() && holder->has(kernels)) {
      chosen = holder;
      reason = PlacementReason::inputs;
    } else {
      chosen = first_with_kernel(instance, kernels, nullptr);
      if (chosen == nullptr) raise_no_kernel(instance, op, kernels, site);
    }
  } else if (scope->resolved != nullptr && scope->resolved->has(kernels)) {
    chosen = scope->resolved;
    reason = PlacementReason::scope;
  } else {
    chosen = first_with_kernel(instance, kernels, &scope->spec);
    reason = PlacementReason::scope;
    if (chosen == nullptr) {
      std::tie(chosen, reason) = fall_back(instance, op, kernels, *scope, site);
    } else if (scope->spec.type && scope->spec.index) {
      scope->resolved = chosen;
    }
  }
  record_placement(op.row, *chosen, reason, site);
  return *chosen;
}

void record_copy(const OpName& op, const Device& from, LogicalDevice& to, std::uint64_t bytes, unsigned input, Site site) {
  const CopyPolicy policy = get_copy_policy();
  if (policy == CopyPolicy::explicit_only) {
    throw CopyForbidden(text("Tensors on conflicting devices: cannot compute ", op.function, " as input #", input,
                             " was expected to be on ", to.name(), " but is actually on ", from.name(), " (operation running on ",
                             to.name(), "). Copy it with copy_to, or allow copies with set_copy_policy(CopyPolicy::silent)"),
                        site);
  }
  ++last.copies;
  last.bytes += bytes;
  if (policy == CopyPolicy::warn) {
    log(LogLevel::warning, text("before computing ", op.row, " input #", input, " was expected to be on ", to.name(),
                                " but is actually on ", from.name(), " (", site.to_string(), "). This triggers a copy of ", bytes,
                                " bytes, which can be a performance bottleneck."));
  }
  if (get_log_device_placement()) {
    log_requested(
        text("Copying ", bytes, " bytes from ", from.name(), " to ", to.name(), " (input #", input, " of ", op.row, ")"));
  }
  if (journal::is_recording()) {
    const Nanoseconds at = now();
    journal::record({.kind = journal::EventKind::copy,
                     .name = op.row,
                     .detail = to.name().c_str(),
                     .site = site,
                     .begin = at,
                     .end = at,
                     .value = bytes});
  }
}

}  // namespace tutti
