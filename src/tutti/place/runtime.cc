#include "tutti/place/runtime.h"

#include <algorithm>
#include <cstdlib>

#include "tutti/base/environment.h"
#include "tutti/base/error.h"
#include "tutti/base/human_time.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/hal/deadline.h"
#include "tutti/hal/fault.h"
#include "tutti/journal/journal.h"
#include "tutti/memory/memory_report.h"
#include "tutti/place/device_name.h"
#include "tutti/place/frozen.h"
#include "tutti/place/settings.h"
#include "tutti/tensor/mirrors.h"

namespace tutti {

namespace {
constexpr std::chrono::seconds after_cancel{1};  // for work that was cancelled to resolve
}

namespace detail {
std::atomic<Runtime*> runtime_instance{nullptr};
}  // namespace detail

LogicalDevice::LogicalDevice(std::unique_ptr<Device> device, unsigned index, const DeviceMemoryOptions& memory)
    : device_(std::move(device)),
      index_(index),
      own_mask_(mask_of(device_->backend())),
      memory_(*device_, memory),
      default_stream_(&lend_stream({})) {
  memory_.set_relief(&Mirrors::drop_all_on);
}

bool LogicalDevice::fits(const DeviceSpec& spec) const noexcept {
  const bool here = (!spec.job || *spec.job == "localhost") && spec.replica.value_or(0) == 0 && spec.task.value_or(0) == 0;
  return here && (!spec.type || *spec.type == type()) && (!spec.index || *spec.index == index_);
}

DeviceStream& LogicalDevice::lend_stream(const StreamOptions& options) {
  {
    const std::lock_guard lock(mutex_);
    const auto drained = std::find_if(returned_.begin(), returned_.end(), [&](DeviceStream* s) {
      if (!(s->options() == options)) return false;
      if (!s->is_idle()) s->expect(s->last().value);  // not ask_done: no work may run under this lock
      return s->is_idle();
    });
    if (drained != returned_.end()) {
      DeviceStream& stream = **drained;
      returned_.erase(drained);
      // What failed under its last owner is the device's to report, not the new owner's.
      for (auto& each : stream.take_failures()) default_stream_->report(std::move(each.failure), each.point);
      return stream;
    }
  }
  // Not under the lock: a driver may be busy with a kernel that asks for the streams of this device.
  return keep(device_->make_stream(options));
}

DeviceStream& LogicalDevice::adopt_stream(void* native, const StreamOptions& options, Site site) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = std::find_if(adopted_.begin(), adopted_.end(), [&](const auto& each) { return each.first == native; });
    if (known != adopted_.end()) return *known->second;
  }
  DeviceStream& stream = keep(device_->adopt_stream(native, options, site));
  const std::lock_guard lock(mutex_);
  adopted_.emplace_back(native, &stream);
  return stream;
}

DeviceStream& LogicalDevice::keep(std::unique_ptr<DeviceStream> made) {
  DeviceStream& stream = *made;
  const std::lock_guard lock(mutex_);
  streams_.push_back(std::move(made));
  journal::name_stream(stream.id(), text(device_->physical().type, ":", index_, " stream ", streams_.size() - 1));
  return stream;
}

void LogicalDevice::take_back(DeviceStream& stream) {
  const std::lock_guard lock(mutex_);
  returned_.push_back(&stream);
}

std::vector<DeviceStream*> LogicalDevice::streams() {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceStream*> out;
  out.reserve(streams_.size());
  for (const auto& stream : streams_) out.push_back(stream.get());
  return out;
}

Runtime::Runtime(std::vector<std::unique_ptr<LogicalDevice>> devices, Site initialised_at)
    : by_id_(std::move(devices)), initialised_at_(initialised_at) {
  for (const auto& device : by_id_) preferred_.push_back(device.get());
  std::stable_sort(preferred_.begin(), preferred_.end(), [](const LogicalDevice* a, const LogicalDevice* b) {
    return std::pair(a->is_cpu(), a->index()) < std::pair(b->is_cpu(), b->index());
  });
  cpu_ = *std::find_if(preferred_.begin(), preferred_.end(), [](const LogicalDevice* d) { return d->is_cpu(); });
  for (LogicalDevice* device : preferred_) {
    if (MemorySpace* space = device->device().staging())
      device->set_staging(std::make_unique<DeviceMemory>(cpu_->device(), *space, DeviceMemoryOptions{}));
  }
}

void Runtime::stop(bool drain, Site site) {
  std::vector<DeviceStream*> all;
  for (const auto& device : by_id_) {
    const auto streams = device->streams();
    all.insert(all.end(), streams.begin(), streams.end());
  }
  std::vector<TimelinePoint> points;
  points.reserve(all.size());
  for (const DeviceStream* stream : all) points.push_back(stream->last());
  const SyncRequest request{.reason = SyncReason::shutdown, .site = site};
  const bool is_stalled = drain && await_unless_stalled(points, request) == WaitResult::timed_out;
  const std::string pending = is_stalled ? pending_work(points) : std::string();
  if (!drain || is_stalled) {
    // All of them before the first device stops: work there may wait for work of any other, or for one that stands still.
    for (DeviceStream* stream : all) stream->cancel();
    clear_faults();
  }
  // A thread inside a kernel that does not return cannot be ended: it is left alone.
  const bool can_stop = !is_stalled || await_all(points, request, Clock::now() + after_cancel) == WaitResult::done;
  if (can_stop) {
    for (const auto& device : by_id_) device->device().stop();
  }
  if (!is_stalled) return;
  throw DeadlineExceeded(
      text("shutdown() waited for work in flight, and nothing was finished for ", human_time(stall_timeout().count()),
           " (TUTTI_STALL_TIMEOUT sets how long). What had not started was cancelled. Was pending:", pending),
      site);
}

namespace {

void stop_at_exit() {
  Runtime* instance = runtime_if_initialised();
  if (instance == nullptr || !is_usable()) return;
  set_lifecycle(Lifecycle::shut_down);
  instance->stop(false, Site{});
  if (environment_bool("TUTTI_LEAK_REPORT").value_or(false)) {
    for (LogicalDevice* device : instance->devices()) {
      const std::string report = leak_report(device->memory());
      if (!report.empty()) log_requested(text(device->name(), ": ", report));
    }
  }
}

}  // namespace

Runtime& detail::initialise(Site site) {
  Runtime& made = initialise_frozen(site);
  static const int registered = std::atexit(&stop_at_exit);
  if (registered != 0) throw InvalidState("the system refused an exit handler: the process is out of memory", site);
  return made;
}

std::string device_list(const Runtime& instance) {
  std::string out;
  for (const LogicalDevice* device : instance.devices()) out += text(out.empty() ? "" : ", ", device->name());
  return out;
}

std::string how_to_have(const Runtime& instance, const DeviceSpec& spec) {
  if (spec.type != "GPU" || instance.devices().front()->type() == "GPU") return {};
  const unsigned least = spec.index.value_or(0) + 1;
  return text(". No GPU is visible; without one, TUTTI_SIM_GPUS=", least, " in the environment or simulate_gpus(", least,
              ") before the first use simulates ", least == 1 ? "it" : "them");
}

LogicalDevice& find_device(std::string_view name, Site site) {
  const DeviceSpec spec = parse_device_name(name, site);
  const Runtime& instance = runtime(site);
  LogicalDevice* found = nullptr;
  for (LogicalDevice* device : instance.devices()) {
    if (!device->fits(spec)) continue;
    if (found != nullptr) {
      throw InvalidArgument(text("'", printable(name), "' fits several devices, '", found->name(), "' and '", device->name(),
                                 "' among them; give a type and an index, like 'GPU:0'"),
                            site);
    }
    found = device;
  }
  if (found == nullptr)
    throw UnknownDevice(
        text("'", printable(name), "' unknown device; there are: ", device_list(instance), how_to_have(instance, spec)), site);
  return *found;
}

void shutdown(Site site) {
  Runtime* instance = runtime_if_initialised();
  require_usable(site);
  set_lifecycle(Lifecycle::shut_down);  // first: what other threads go on to ask for is refused, not left behind
  if (instance != nullptr) instance->stop(true, site);
}

unsigned set_num_threads(unsigned threads, Site site) {
  if (threads == 0) throw InvalidArgument("a CPU kernel needs at least 1 thread; 0 were asked for", site);
  return static_cast<unsigned>(runtime(site).cpu().device().parallel().limit_width(threads));
}

unsigned get_num_threads(Site site) { return static_cast<unsigned>(runtime(site).cpu().device().parallel().width()); }

}  // namespace tutti
