#include "tutti/exec/stream.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/order_calls.h"
#include "tutti/hal/access_observer.h"
#include "tutti/place/placement.h"
#include "tutti/place/runtime.h"
#include "tutti/place/scope.h"
#include "tutti/place/settings.h"

namespace tutti {

namespace detail {
struct StreamScopeEntry : ScopeLink<StreamScopeEntry> {
  StreamScopeEntry(const Stream& lent, std::size_t of_device) : stream(lent), slot(of_device) {}
  // Made and deleted on its own thread, which keeps one to spare: changing streams takes nothing from the heap.
  static void* operator new(std::size_t bytes) {
    return spare.memory != nullptr ? std::exchange(spare.memory, nullptr) : ::operator new(bytes);
  }
  static void operator delete(void* memory) noexcept { ::operator delete(std::exchange(spare.memory, memory)); }

  Stream stream;
  std::size_t slot;  // of its device

 private:
  struct Spare {
    ~Spare() { ::operator delete(std::exchange(memory, nullptr)); }
    void* memory = nullptr;
  };
  static thread_local Spare spare;
};
thread_local StreamScopeEntry::Spare StreamScopeEntry::spare;
}  // namespace detail

namespace {

// Work that does nothing but take its place: it carries a wait, or takes the time.
struct MarkPayload {
  std::shared_ptr<TimeMark>* mark;  // owned by the payload
};

void pass(const MarkPayload& payload, DeviceStream& stream) noexcept {
  if (payload.mark != nullptr) (*payload.mark)->pass(stream);
}

constexpr WorkKind mark_kind{
    [](const void* source, void* payload, bool) {
      *static_cast<MarkPayload*>(payload) = *static_cast<const MarkPayload*>(source);
    },
    [](void* payload, RunContext& context) noexcept -> FailureRef {
      auto* mine = static_cast<MarkPayload*>(payload);
      pass(*mine, context.stream);
      delete mine->mark;
      return nullptr;
    },
    [](void* payload, const FailureRef&) noexcept { delete static_cast<MarkPayload*>(payload)->mark; },
    [](const void* source, RunContext& context) noexcept -> FailureRef {
      pass(*static_cast<const MarkPayload*>(source), context.stream);
      return nullptr;
    },
    [](void* payload, RunContext& context) noexcept -> FailureRef {
      pass(*static_cast<MarkPayload*>(payload), context.stream);
      return nullptr;
    },
    [](void* payload, const FailureRef&) noexcept -> FailureRef {
      delete static_cast<MarkPayload*>(payload)->mark;
      return nullptr;
    },
};

TimelinePoint submit_mark(DeviceStream& stream, const char* name, const MarkPayload& payload,
                          std::span<const TimelinePoint> after, Site site) {
  stream.prepare(site);
  TimelinePoint point;
  for (;;) {
    std::unique_lock lock(stream.order());
    const TimelinePoint full = stream.full_until(0);
    if (full.stream == StreamId::none) {
      const TimelinePoint next{stream.id(), stream.last().value + 1};
      for (const TimelinePoint& waited : after) stream.known().learn(waited, known_at(waited), next.value);
      if (AccessObserver* observer = access_observer()) [[unlikely]]
        observer->before_submit({.op = name, .site = site, .device = &stream.device(), .point = next, .after = after});
      point = stream.submit({.kind = &mark_kind, .name = name, .site = site, .source = &payload}, after);
      break;
    }
    lock.unlock();
    await(full, {.reason = SyncReason::back_pressure, .site = site});
  }
  stream.kick();
  return point;
}

template <class Data>
const OpRow& order_row(const char* name, const char* function) {
  return register_op({.name = name, .function = function, .kind = OpKind::order, .run = [](OpCall& call) {
                        call.data_as<Data>().run(call.site);
                      }});
}
const OpRow& record_row = order_row<RecordData>("_RecordEvent", "Event::record");
const OpRow& wait_row = order_row<WaitData>("_Wait", "Stream::wait");

// Where nobody listens, no call is made.
template <class Data>
void call_order(const OpRow& row, const Data& data, Site site) {
  if (detail::thread_state.top == nullptr) [[likely]]
    return data.run(site);
  OpCall call(row, site);
  call.data = &data;
  dispatch(call);
}

std::vector<DeviceStream*> all_streams(const Runtime& instance) {
  std::vector<DeviceStream*> out;
  for (LogicalDevice* device : instance.devices()) {
    const auto streams = device->streams();
    out.insert(out.end(), streams.begin(), streams.end());
  }
  return out;
}

}  // namespace

namespace {

void raise_first(std::vector<DeviceStream::ReportedFailure> found) {
  constexpr std::size_t most_listed = 8;
  // One failure may be that of several ops: a lost device's.
  std::erase_if(found, [](const DeviceStream::ReportedFailure& each) {
    const bool is_known = each.failure->is_told();
    each.failure->set_told();
    return is_known;
  });
  if (found.empty()) return;
  std::string also;
  if (found.size() > 1) also = text("; ", found.size() - 1, found.size() == 2 ? " more failure:" : " more failures:");
  for (std::size_t i = 1; i < std::min(found.size(), most_listed + 1); ++i)
    also += text("\n  ", found[i].failure->to_string(), " [at ", found[i].failure->site.to_string(), "]");
  if (found.size() > most_listed + 1) also += text("\n  ... and ", found.size() - most_listed - 1, " more");
  found.front().failure->raise(also);
}

// Of work up to that point of its stream.
void raise_failures_until(TimelinePoint point, Site site) {
  DeviceStream* own = point.stream == StreamId::none ? nullptr : timeline(point.stream).stream();
  if (own == nullptr) return;
  auto found = own->take_failures(point);
  // A stream that was lent anew has handed what failed before to the device's default stream.
  for (auto& each : runtime(site).of(own->device()).default_stream().take_failures(point)) found.push_back(std::move(each));
  raise_first(std::move(found));
}

}  // namespace

void raise_failures(std::span<DeviceStream* const> streams) {
  std::vector<DeviceStream::ReportedFailure> found;
  for (DeviceStream* stream : streams) {
    for (auto& each : stream->take_failures()) found.push_back(std::move(each));
  }
  raise_first(std::move(found));
}

void RecordData::run(Site site) const {
  DeviceStream& stream = stream_.base();
  recorded_ = {};
  switch (what_) {
    case What::last: recorded_.point = stream.last(); return;
    case What::mark: recorded_.point = submit_mark(stream, "mark", {nullptr}, {}, site); return;
    case What::time: break;
  }
  recorded_.mark = stream.make_time_mark();
  recorded_.point = submit_mark(stream, "event", {new std::shared_ptr(recorded_.mark)}, {}, site);
}

void WaitData::run(Site site) const {
  const TimelinePoint point = other_ ? other_->base().last() : point_;
  // Done by luck or not: to whoever watches, the wait is a step of its own.
  const bool is_watched = access_observer() != nullptr && point.stream != StreamId::none;
  if (point.stream == stream_.id() || (is_done(point) && !is_watched)) return;
  submit_mark(stream_.base(), "wait", {nullptr}, std::span(&point, 1), site);
}

Event::Event(const Options& options) : is_timed_(options.timing) {}
Event::Event(const Event& other) : is_timed_(other.is_timed_), recorded_(other.recorded()) {}

Event& Event::operator=(const Event& other) {
  if (this == &other) return *this;
  Recorded copy = other.recorded();
  is_timed_ = other.is_timed_;
  const std::lock_guard lock(lock_);
  if (cell_) {
    cell_->set(std::move(copy));
  } else {
    std::swap(recorded_, copy);
  }
  return *this;
}

Event::Recorded Event::recorded() const noexcept {
  const std::lock_guard lock(lock_);
  return cell_ ? cell_->get() : recorded_;
}

void Event::record(Stream& stream, Site site) {
  require_usable(site);
  std::weak_ptr<detail::EventCell> seen;
  if (detail::thread_state.top != nullptr) {
    const std::lock_guard lock(lock_);
    if (!cell_) {
      cell_ = std::make_shared<detail::EventCell>();
      cell_->set(recorded_);
    }
    seen = cell_;
  }
  const RecordData data(stream, is_timed_ ? RecordData::What::time : RecordData::What::last, std::move(seen));
  call_order(record_row, data, site);
  Recorded fresh = data.recorded();
  const std::lock_guard lock(lock_);
  if (cell_) return cell_->set(std::move(fresh));
  std::swap(recorded_, fresh);
}

void Event::sync(const SyncOptions& options, Site site) const {
  const TimelinePoint until = point();
  sync_point(until, {.reason = SyncReason::event_sync, .site = site, .intent = options.intent}, options.timeout);
  raise_failures_until(until, site);
}

std::chrono::nanoseconds Event::elapsed(const Event& from, const Event& to, Site site) {
  const auto mark_of = [site](const Event& event) {
    if (!event.is_timed_) throw InvalidArgument("Event::elapsed needs events made with {.timing = true}", site);
    const Recorded recorded = event.recorded();
    if (!recorded.mark) throw InvalidArgument("Event::elapsed needs events that were recorded", site);
    if (!ask_done(recorded.point))
      throw InvalidState("Event::elapsed needs events that are done; sync() the later one first", site);
    if (!recorded.mark->has_passed()) throw InvalidState("Event::elapsed met an event whose stream was cancelled", site);
    return recorded.mark;
  };
  const auto begin = mark_of(from);
  return std::chrono::nanoseconds(mark_of(to)->since(*begin));
}

struct Stream::Lease {
  LogicalDevice& device;
  DeviceStream& stream;
  bool is_lent;
  Lease(LogicalDevice& on, DeviceStream& lent, bool give_back) : device(on), stream(lent), is_lent(give_back) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    if (is_lent && is_usable()) device.take_back(stream);
  }
};

Stream::Stream(std::string_view device, const StreamOptions& options, Site site) {
  if (options.most_ops == 0 || options.most_ops > 65536) {
    throw InvalidArgument(text("a stream holds 1 to 65536 ops ahead; most_ops is ", options.most_ops), site);
  }
  LogicalDevice& on = find_device(device, site);
  lease_ = std::make_shared<Lease>(on, on.lend_stream(options), true);
}

Stream default_stream(std::string_view device, Site site) {
  LogicalDevice& on = find_device(device, site);
  return {on.default_stream(), on};
}

Stream wrap_stream(std::string_view device, void* native, Site site) {
  LogicalDevice& on = find_device(device, site);
  return {on.adopt_stream(native, {}, site), on};
}

Stream::Stream(DeviceStream& existing, LogicalDevice& device) : lease_(std::make_shared<Lease>(device, existing, false)) {}

StreamId Stream::id() const noexcept { return base().id(); }
const std::string& Stream::device() const noexcept { return lease_->device.name(); }
bool Stream::is_idle() const noexcept { return ask_done(base().last()); }
void* Stream::native() const { return base().native(); }
DeviceStream& Stream::base() const noexcept { return lease_->stream; }

void Stream::wait(const Event& event, Site site) { wait(event.point(), site); }
void Stream::wait(const Stream& other, Site site) {
  require_usable(site);
  call_order(wait_row, WaitData(*this, other), site);
}
void Stream::wait(TimelinePoint point, Site site) {
  require_usable(site);
  call_order(wait_row, WaitData(*this, point), site);
}

TimelinePoint Stream::mark(Site site) {
  require_usable(site);
  const RecordData data(*this, RecordData::What::mark);
  call_order(record_row, data, site);
  return data.recorded().point;
}

void Stream::sync(const SyncOptions& options, Site site) {
  require_usable(site);
  DeviceStream* mine = &base();
  sync_point(mine->last(), {.reason = SyncReason::stream_sync, .site = site, .intent = options.intent}, options.timeout);
  raise_failures(std::span(&mine, 1));
}

void Stream::cancel(Site site) {
  require_usable(site);
  base().cancel();
}

StreamScope::StreamScope(const Stream& stream, Site site)
    : entry_(new detail::StreamScopeEntry(stream, index_of(stream.lease_->device.device().id()))), site_(site) {
  detail::enter_scope(detail::thread_state.stream, entry_);
}

StreamScope::~StreamScope() { detail::leave_scope(detail::thread_state.stream, entry_, "stream scope", site_); }

ManualOrder::ManualOrder() noexcept : before_(std::exchange(detail::thread_state.settings.manual_order, true)) {}
ManualOrder::~ManualOrder() { detail::thread_state.settings.manual_order = before_; }

DeviceStream& current_stream(LogicalDevice& device) noexcept {
  if (detail::thread_state.stream == nullptr) [[likely]]
    return device.default_stream();
  const std::size_t slot = index_of(device.device().id());
  for (const detail::StreamScopeEntry* each = detail::without_left(detail::thread_state.stream); each != nullptr;
       each = each->outer) {
    if (each->slot == slot && !each->is_left.load(std::memory_order_acquire)) return each->stream.base();
  }
  return device.default_stream();
}

std::vector<Stream> open_streams() {
  std::vector<Stream> out;
  for (const detail::StreamScopeEntry* each = detail::thread_state.stream; each != nullptr; each = each->outer) {
    if (!each->is_left.load(std::memory_order_acquire)) out.insert(out.begin(), each->stream);
  }
  return out;
}

void synchronize(std::string_view device, const SyncOptions& options, Site site) {
  Runtime& instance = runtime(site);
  const detail::ScopeEntry* scope = device.empty() ? detail::without_left(detail::thread_state.scope) : nullptr;
  LogicalDevice* on = nullptr;
  for (LogicalDevice* each : instance.devices()) {
    if (on == nullptr && device.empty() && (scope == nullptr || each->fits(scope->spec))) on = each;
  }
  if (on == nullptr) on = &find_device(scope != nullptr ? std::string_view(scope->requested) : device, site);
  const std::vector<DeviceStream*> streams = on->streams();
  sync_streams(streams, SyncReason::device_sync, options, site);
  raise_failures(streams);
}

void sync_devices(const SyncOptions& options, Site site) {
  if (detail::thread_state.listener != nullptr)
    throw InvalidState("sync_devices() must only be called in Eager mode, outside captured functions", site);
  const std::vector<DeviceStream*> streams = all_streams(runtime(site));
  sync_streams(streams, SyncReason::all_devices_sync, options, site);
  raise_failures(streams);
}

void cancel(Stream& stream, Site site) { stream.cancel(site); }

void clear_errors(Site site) {
  for (DeviceStream* stream : all_streams(runtime(site))) (void)stream->take_failures();
}

}  // namespace tutti
