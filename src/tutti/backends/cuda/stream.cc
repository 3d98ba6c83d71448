#include "tutti/backends/cuda/stream.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "tutti/backends/cuda/launcher.h"
#include "tutti/backends/cuda/pause.h"
#include "tutti/backends/cuda/time_mark.h"
#include "tutti/base/environment.h"
#include "tutti/base/error.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/hal/device.h"
#include "tutti/hal/door.h"
#include "tutti/journal/journal.h"

namespace tutti {

namespace {

using cuda::driver;

// Exact origins of faults at the price of a signal after every op.
bool is_debugging() {
  static const bool answer = environment_bool("TUTTI_CUDA_DEBUG").value_or(false);
  return answer;
}

// One for all CUDA streams: work of one is retired after work of others that it came after. Who only asks whether work is done
// tries it and goes away, so letting it go must cost no system call.
constinit ShortLock retiring;

CudaStream* as_cuda(DeviceStream* stream) noexcept {
  return stream != nullptr && stream->device().backend() == BackendKind::cuda ? static_cast<CudaStream*>(stream) : nullptr;
}

void raise_atomic(std::atomic<std::uint64_t>& to, std::uint64_t value) noexcept {
  std::uint64_t before = to.load(std::memory_order_relaxed);
  while (before < value && !to.compare_exchange_weak(before, value, std::memory_order_acq_rel)) {}
}

void check(CUresult result, const char* what, Site site) {
  if (result != CUDA_SUCCESS) throw KernelFailed(text(what, ": ", driver().describe(result)), site);
}

}  // namespace

namespace cuda {
Queue& queue_of(DeviceStream& stream) noexcept { return static_cast<CudaStream&>(stream); }
}  // namespace cuda

struct CudaStream::Shared {
  alignas(64) std::uint64_t progress;
  alignas(64) cuda::Trap traps[1];  // one for each slot
};

CudaStream::CudaStream(Device& device, const StreamOptions& options, cuda::Context& context, cudaStream_t adopted)
    : DeviceStream(device, options),
      context_(context),
      adopted_(adopted),
      show_every_(is_debugging() ? 1 : std::max<std::uint64_t>(1, std::min<std::uint64_t>(64, options.most_ops / 8))),
      ring_(options) {
  // A timeline is handed on from stream to stream, and its values go on.
  const std::uint64_t start = own_timeline().submitted();
  for (auto* counter : {&issued_, &asked_, &wanted_, &watched_}) counter->store(start, std::memory_order_relaxed);
  retired_ = start;
  traps_.resize(ring_.size());
  properties_ = &context_.properties();
  set_prepared(false);
  own_timeline().set_remote();
  context_.add_stream(*this);
}

// Streams of logical devices live as long as the process; the driver takes back what they hold.
CudaStream::~CudaStream() = default;

void CudaStream::prepare_slowly(Site site) {
  if (context_.is_lost()) return;
  context_.enter(site);
  const BlockingRegion loading(SyncReason::module_load, site);
  const std::lock_guard lock(opening_);
  if (is_open_.load(std::memory_order_relaxed)) return;
  const std::size_t bytes = sizeof(Shared) + ring_.size() * sizeof(cuda::Trap);
  void* memory = nullptr;
  check(driver().cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP), "pinned memory", site);
  std::memset(memory, 0, bytes);
  shared_ = static_cast<Shared*>(memory);
  // Nothing is issued before it is open, unless the context is lost.
  std::atomic_ref(shared_->progress).store(issued(), std::memory_order_relaxed);
  CUstream made = adopted_;
  // Ours: higher runs first. CUDA's: lower runs first, and what is out of range is clamped.
  if (made == nullptr)
    check(driver().cuStreamCreateWithPriority(&made, CU_STREAM_NON_BLOCKING, -options().priority), "stream", site);
  stream_ = made;
  is_open_.store(true, std::memory_order_release);
  set_prepared(true);
}

void* CudaStream::native() {
  prepare(Site{});
  if (!is_open_.load(std::memory_order_acquire)) context_.loss()->raise();
  return stream_;
}

TimelinePoint CudaStream::full_until(std::uint64_t traffic_bytes) const {
  std::uint64_t value = ring_.full_until(own_timeline(), traffic_bytes);
  if (value == 0) [[likely]]
    return {};
  const_cast<CudaStream*>(this)->look();  // not done: whoever waits for it catches up
  value = ring_.full_until(own_timeline(), traffic_bytes);
  return value == 0 ? TimelinePoint{} : TimelinePoint{id(), value};
}

TimelinePoint CudaStream::submit(const Work& work, std::span<const TimelinePoint> after) {
  const std::uint64_t value = own_timeline().submitted() + 1;
  bool is_deferred = false;
  bool is_suspect = false;
  {
    const std::lock_guard lock(issue_lock_);
    if (!context_.is_lost()) open(work.site);
    TimelinePoint blocker;
    // Behind work that is deferred already, it is the launcher's.
    is_deferred = issued() + 1 != value || can_launch(after, blocker) != Ready::yes;
    ring_.put(value, work, after, is_deferred);
    own_timeline().set_submitted(value);
    if (!is_deferred) [[likely]]
      is_suspect = !launch(value, work.source);
  }
  if (is_deferred) {
    cuda::Launcher::instance().ready(*this);
  } else if (is_suspect) [[unlikely]] {
    check_health();
    catch_up();
  }
  return {id(), value};
}

CudaStream::Ready CudaStream::can_launch(std::span<const TimelinePoint> after, TimelinePoint& blocker) const {
  for (const TimelinePoint& point : after) {
    if (tutti::is_done(point)) continue;
    DeviceStream* producer = timeline(point.stream).stream();
    if (producer == nullptr) continue;
    blocker = point;
    const CudaStream* other = as_cuda(producer);
    if (other == nullptr) return Ready::after_call;
    if (other->issued() < point.value) return Ready::after_launch;
  }
  return Ready::yes;
}

bool CudaStream::launch(std::uint64_t value, const void* source) noexcept {
  WorkRing::Slot& work = ring_.at(value);
  FailureRef failure = launch_now(work, value, source);
  const bool is_well = failure == nullptr && !context_.is_lost();
  if (failure) [[unlikely]]
    complain(value, std::move(failure));
  issued_.store(value, std::memory_order_release);
  traffic_unshown_ += work.traffic_bytes;
  const std::uint64_t asked = asked_.load(std::memory_order_relaxed);
  if (value - asked >= show_every_ || traffic_unshown_ > options().most_bytes / 8 ||
      wanted_.load(std::memory_order_acquire) > asked) {
    show_progress();
  }
  return is_well;
}

FailureRef CudaStream::launch_now(WorkRing::Slot& work, std::uint64_t value, const void* source) noexcept {
  if (context_.is_lost()) return nullptr;  // retiring it says so
  if (value <= cancelled_up_to_.load(std::memory_order_acquire)) {
    return std::make_shared<const Failure>(FailureKind::cancelled, "it was cancelled before it started", work.function,
                                           device().name(), work.site);
  }
  try {
    for (const TimelinePoint& point : work.comes_after()) {
      CudaStream* producer = tutti::is_done(point) ? nullptr : as_cuda(timeline(point.stream).stream());
      if (producer == nullptr) continue;
      // The wait takes the event as it is recorded now, so one event per GPU serves every edge. It belongs to the context of
      // the stream it is recorded on.
      const bool is_elsewhere = &producer->context_ != &context_;
      if (is_elsewhere) producer->context_.enter(work.site);
      CUevent& event = edge_events_[producer->context_.properties().ordinal];
      if (event == nullptr) check(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "event", work.site);
      check(driver().cuEventRecord(event, producer->stream_), "event", work.site);
      if (is_elsewhere) context_.enter(work.site);
      check(driver().cuStreamWaitEvent(stream_, event, CU_EVENT_WAIT_DEFAULT), "wait", work.site);
    }
    RunContext context{*this, serial_, {id(), value}, work.function, nullptr};
    const bool traced = journal::is_recording();
    Run run;
    if (traced) [[unlikely]] {
      run = {make_time_mark(), make_time_mark()};
      run.begin->pass(*this);
    }
    FailureRef failure =
        source != nullptr ? work.kind->issue_source(source, context) : work.kind->issue(work.payload.data(), context);
    if (traced) [[unlikely]] {
      run.end->pass(*this);
      const std::lock_guard lock(complaints_mutex_);
      runs_.emplace(value, std::move(run));
      has_runs_.store(true, std::memory_order_release);
    }
    return failure;
  } catch (...) {
    return failure_from(std::current_exception(), work.is_copy ? FailureKind::copy : FailureKind::kernel, work.function,
                        device().name(), work.site);
  }
}

void CudaStream::show_progress() noexcept {
  if (context_.is_lost()) return;
  const std::uint64_t value = issued();
  // A refusal means that the context is gone; whoever waits finds out.
  if (driver().cuStreamWriteValue64(stream_, reinterpret_cast<CUdeviceptr>(&shared_->progress), value,
                                    CU_STREAM_WRITE_VALUE_DEFAULT) != CUDA_SUCCESS)
    return;
  asked_.store(value, std::memory_order_release);
  traffic_unshown_ = 0;
}

void CudaStream::complain(std::uint64_t value, FailureRef failure) {
  const std::lock_guard lock(complaints_mutex_);
  complaints_.emplace(value, std::move(failure));
  has_complaints_.store(true, std::memory_order_release);
}

FailureRef CudaStream::take_complaint(std::uint64_t value) {
  const std::lock_guard lock(complaints_mutex_);
  auto found = complaints_.extract(value);
  has_complaints_.store(!complaints_.empty(), std::memory_order_release);
  return found ? std::move(found.mapped()) : nullptr;
}

std::uint64_t CudaStream::shown() const noexcept {
  if (context_.is_lost()) return issued();
  if (!is_open_.load(std::memory_order_acquire)) return 0;
  return std::atomic_ref(shared_->progress).load(std::memory_order_acquire);
}

void CudaStream::look() noexcept {
  if (shown() <= own_timeline().completed()) return;
  // Work is done when it is retired, for then its failures are told; who finds another thread retiring hears "not yet".
  const std::unique_lock lock(retiring, std::try_to_lock);
  if (lock) retire_up_to(shown());
}

void CudaStream::catch_up() noexcept {
  if (shown() <= own_timeline().completed()) return;
  const std::lock_guard lock(retiring);
  retire_up_to(shown());
}

void CudaStream::retire_up_to(std::uint64_t value) noexcept {
  if (retired_ >= value) return;
  while (retired_ < value) {
    for (const TimelinePoint& point : ring_.at(retired_ + 1).comes_after()) {
      CudaStream* producer = as_cuda(timeline(point.stream).stream());
      // This work ran after it, so it is done whether the device has shown it or not.
      if (producer != nullptr && producer != this) producer->retire_up_to(point.value);
    }
    retire(retired_ + 1);
    ++retired_;
  }
  own_timeline().advance(retired_);
}

void CudaStream::record_run(std::uint64_t value, const WorkRing::Slot& work) noexcept {
  Run run;
  {
    const std::lock_guard lock(complaints_mutex_);
    auto found = runs_.extract(value);
    has_runs_.store(!runs_.empty(), std::memory_order_release);
    if (!found) return;
    run = std::move(found.mapped());
  }
  if (!run.begin->has_passed() || !run.end->has_passed() || context_.is_lost()) return;
  const Nanoseconds begin = run.begin->time();
  journal::record({.kind = journal::EventKind::run,
                   .stream = id(),
                   .name = work.name,
                   .site = work.site,
                   .begin = begin,
                   .end = begin + run.end->since(*run.begin),
                   .value = value});
}

void CudaStream::retire(std::uint64_t value) noexcept {
  WorkRing::Slot& work = ring_.at(value);
  if (has_runs_.load(std::memory_order_acquire)) [[unlikely]]
    record_run(value, work);
  work.forget_after();
  FailureRef own;
  if (has_complaints_.load(std::memory_order_acquire)) [[unlikely]]
    own = take_complaint(value);
  const std::size_t slot = value & (ring_.size() - 1);
  if (const cuda::DescribeTrap describe = std::exchange(traps_[slot], nullptr)) {
    const cuda::Trap& trap = shared_->traps[slot];
    if (trap.code != 0) {
      own = std::make_shared<const Failure>(FailureKind::kernel, describe(trap), work.function, device().name(), work.site);
    }
  }
  if ((!own || own->kind != FailureKind::cancelled) && context_.is_lost() &&
      (!is_open_.load(std::memory_order_acquire) || std::atomic_ref(shared_->progress).load(std::memory_order_acquire) < value)) {
    own = context_.loss();
    // The program knows of the loss; that this work came to it as well is news.
    if (own->is_told()) own = std::make_shared<const Failure>(own->kind, own->reason, own->op, own->device, own->site);
  }
  if (own && own->kind == FailureKind::cancelled) {
    work.kind->abandon(work.payload.data(), own);
  } else if (FailureRef failure = work.kind->retire(work.payload.data(), own)) {
    report(std::move(failure), {id(), value});
  }
  ring_.resolved(work);
}

void CudaStream::expect(std::uint64_t value) noexcept {
  constexpr std::uint64_t questions_between_checks = 256;
  if (context_.is_lost()) return;
  if (asked_.load(std::memory_order_acquire) >= value) {
    // Someone asks again and again and never waits: he too is to learn of a loss.
    if (questions_.fetch_add(1, std::memory_order_relaxed) % questions_between_checks == questions_between_checks - 1)
      check_health();
    return;
  }
  const std::lock_guard lock(issue_lock_);
  raise_atomic(wanted_, value);
  if (issued() < value || asked_.load(std::memory_order_relaxed) >= value) return;
  try {
    open(Site{});
    show_progress();
  } catch (const std::exception& e) {
    log(LogLevel::error,
        text("stream ", index_of(id()), " on ", device().name(), " cannot be asked for its progress: ", e.what()));
  }
}

void CudaStream::watch_until(std::uint64_t value) {
  raise_atomic(watched_, value);
  expect(value);
  cuda::Launcher::instance().watch(*this);
}

void CudaStream::look_for_watched() noexcept {
  catch_up();
  if (!is_watched_done() && issued() >= watched_.load(std::memory_order_acquire)) check_health();
}

void CudaStream::check_health() noexcept {
  if (!is_open_.load(std::memory_order_acquire)) return;
  // Any thread may ask, and an adopted stream may be the default one, which is that of the current context.
  CUresult result = context_.reenter();
  if (result == CUDA_SUCCESS) result = driver().cuStreamQuery(stream_);
  context_.lose_if_fatal(result);
}

bool CudaStream::block_until(std::uint64_t value, Deadline deadline) {
  constexpr int looks_without_pause = 1'000;
  constexpr int looks_at_first = 2'000;
  expect(value);
  // In the usual case the value comes within microseconds: nothing but the word itself is looked at.
  for (int i = 0; i < looks_at_first && shown() < value; ++i) {
    if (i > looks_without_pause) _mm_pause();
  }
  constexpr Nanoseconds between_checks = 50'000;
  cuda::Pause pause;
  Nanoseconds next_check = 0;
  for (;;) {
    catch_up();
    if (own_timeline().completed() >= value) return true;
    if (deadline && Clock::now() >= *deadline) return false;
    if (const Nanoseconds passed = pause.elapsed(); passed >= next_check) {
      check_health();
      expect(value);  // it may have been launched only now
      next_check = passed + between_checks;
    }
    auto rest = pause.next();
    if (deadline) rest = std::min<std::chrono::nanoseconds>(rest, *deadline - Clock::now());
    if (rest.count() > 0) std::this_thread::sleep_for(rest);
  }
}

CudaStream::Launched CudaStream::launch_deferred(bool& any) noexcept {
  try {
    prepare(Site{});
  } catch (...) {
    // Below it is tried again, for each piece of work, which then fails with the reason.
  }
  const std::lock_guard lock(issue_lock_);
  while (issued() < own_timeline().submitted()) {
    const std::uint64_t value = issued() + 1;
    WorkRing::Slot& work = ring_.at(value);
    TimelinePoint blocker;
    const Ready ready = can_launch(work.comes_after(), blocker);
    if (ready == Ready::after_launch) return Launched::waits_for_launch;
    if (ready == Ready::after_call) {
      if (is_registered_.exchange(true)) return Launched::waits_for_call;
      const auto call = [](void* argument) noexcept {
        auto* stream = static_cast<CudaStream*>(argument);
        stream->is_registered_.store(false);
        cuda::Launcher::instance().ready(*stream);
      };
      if (timeline(blocker.stream).when_reached(blocker.value, call, this)) return Launched::waits_for_call;
      is_registered_.store(false);
      continue;
    }
    try {
      if (!context_.is_lost()) open(work.site);
    } catch (...) {
      complain(value,
               failure_from(std::current_exception(), FailureKind::device_lost, work.function, device().name(), work.site));
    }
    static_cast<void>(launch(value, nullptr));
    any = true;
  }
  // Someone may be waiting for what was not launched when he asked.
  if (wanted_.load(std::memory_order_acquire) > asked_.load(std::memory_order_relaxed)) show_progress();
  return Launched::all;
}

void CudaStream::cancel() {
  const std::lock_guard lock(order());
  cancelled_up_to_.store(own_timeline().submitted(), std::memory_order_release);
}

std::vector<PendingWork> CudaStream::pending() const {
  const std::lock_guard lock(const_cast<CudaStream*>(this)->order());
  const std::uint64_t next = own_timeline().completed() + 1;
  return ring_.pending(own_timeline(), id(), next <= issued() ? next : 0);
}

std::vector<PendingWork> CudaStream::unfinished() const {
  std::vector<PendingWork> out;
  const std::uint64_t first = shown() + 1;
  // With a signal after every op, the first that was not shown is the one that ran.
  const std::uint64_t last = is_debugging() ? std::min(first, issued()) : issued();
  for (std::uint64_t value = first; value <= last; ++value) {
    const WorkRing::Slot& work = ring_.at(value);
    out.push_back({work.function, work.site, {id(), value}, work.submitted_at, true});
  }
  return out;
}

std::shared_ptr<TimeMark> CudaStream::make_time_mark() {
  context_.enter(Site{});
  return std::make_shared<cuda::CudaTimeMark>(context_);
}

cuda::Trap* CudaStream::arm_trap(cuda::DescribeTrap describe) {
  if (graph_traps_ != nullptr) [[unlikely]] {
    graph_describes_.push_back(describe);
    return graph_traps_ + (graph_describes_.size() - 1);
  }
  const std::size_t slot = (issued() + 1) & (ring_.size() - 1);  // of the work being launched
  shared_->traps[slot] = {};
  traps_[slot] = describe;
  return &shared_->traps[slot];
}

void CudaStream::begin_graph(cuda::Trap* traps, Site site) {
  prepare(site);
  context_.enter(site);
  check(driver().cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), "graph", site);
  graph_traps_ = traps;
  graph_describes_.clear();
}

CUgraph CudaStream::end_graph() noexcept {
  CUgraph graph = nullptr;
  graph_traps_ = nullptr;
  return driver().cuStreamEndCapture(stream_, &graph) == CUDA_SUCCESS ? graph : nullptr;
}

}  // namespace tutti
