#include "tutti/memory/device_memory.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/hal/access_observer.h"
#include "tutti/hal/deadline.h"
#include "tutti/hal/device.h"
#include "tutti/hal/kernel_thread.h"
#include "tutti/hal/lifecycle.h"
#include "tutti/journal/journal.h"
#include "tutti/memory/growth_resource.h"
#include "tutti/memory/limit_adaptor.h"
#include "tutti/memory/memory_report.h"
#include "tutti/memory/pool_lock.h"
#include "tutti/memory/pool_resource.h"
#include "tutti/memory/statistics_adaptor.h"
#include "tutti/memory/tracking_adaptor.h"

namespace tutti {

namespace {

using MemoryStack = StatisticsAdaptor<TrackingAdaptor<PoolResource<LimitAdaptor<GrowthResource>>>>;
static_assert(MemoryResource<MemoryStack>);

std::uint64_t limit_or_capacity(std::uint64_t limit, const MemorySpace& space) { return limit != 0 ? limit : space.capacity(); }

}  // namespace

struct DeviceMemory::State final : BlockOwner {
  State(Device& owner, MemorySpace& behind, const DeviceMemoryOptions& options)
      : device(owner),
        space(behind),
        stack(owner, *this, limit_or_capacity(options.limit, behind), behind, options.growth, &mutex) {}

  auto& tracking() noexcept { return stack.upstream(); }
  auto& pool() noexcept { return tracking().upstream(); }
  auto& limit() noexcept { return pool().upstream(); }

  void take_back(Block& block) noexcept override;
  // Before the lock is taken.
  void prepare(Site site) {
    if (is_prepared.load(std::memory_order_acquire)) [[likely]]
      return;
    space.prepare(site);
    is_prepared.store(true, std::memory_order_release);
  }
  // With the lock held. More is mapped than a limit within a granule allows, so what is in use is held to it here.
  Block* take(std::size_t bytes, StreamId stream, Site site) {
    const std::uint64_t in_use = std::min(stack.statistics().in_use, limit().limit());
    if (size_class::bytes_for(bytes) > limit().limit() - in_use) [[unlikely]]
      return nullptr;
    return stack.allocate(bytes, stream, site);
  }
  Block* allocate_under_pressure(std::size_t bytes, StreamId stream, std::string& stalled, Site site);
  // The uses of the blocks that wait longest are awaited through the door. `stalled`: the work that does not get done.
  enum class Awaited : std::uint8_t { nothing, done, gave_up };
  Awaited await_pending(std::size_t blocks, std::string& stalled, Site site);
  MemoryInfo info_locked();
  [[noreturn]] void refuse(std::size_t bytes, std::string stalled, Site site);
  void note(journal::EventKind kind, std::size_t bytes, Site site) const noexcept {
    const Nanoseconds at = now();
    journal::record({.kind = kind,
                     .name = kind == journal::EventKind::alloc ? "alloc" : "free",
                     .detail = device.name().c_str(),
                     .site = site,
                     .begin = at,
                     .end = at,
                     .value = bytes});
  }

  Device& device;
  MemorySpace& space;
  PoolLock mutex;
  std::atomic<bool> is_prepared{false};
  MemoryStack stack;
  std::atomic<Relieve> relieve{nullptr};
  bool abandoned = false;  // the DeviceMemory is gone; the last block that comes back ends this
};

void DeviceMemory::State::take_back(Block& block) noexcept {
  // A fork may have inherited the lock held by a thread it does not have.
  if (is_forked()) [[unlikely]]
    return;
  if (journal::is_recording()) [[unlikely]]
    note(journal::EventKind::free, block.bytes(), block.site());
  bool last = false;
  {
    const HoldPool hold(mutex, block.site());
    stack.deallocate(block);
    last = abandoned && stack.statistics().live == 0;
  }
  if (last) [[unlikely]]
    delete this;
}

DeviceMemory::State::Awaited DeviceMemory::State::await_pending(std::size_t blocks, std::string& stalled, Site site) {
  std::vector<TimelinePoint> uses;
  {
    const HoldPool hold(mutex, site);
    pool().pending_uses(blocks, uses);
  }
  // The last point of each stream stands for the earlier ones.
  std::sort(uses.begin(), uses.end(),
            [](TimelinePoint a, TimelinePoint b) { return a.stream != b.stream ? a.stream < b.stream : a.value > b.value; });
  const auto same_stream = [](TimelinePoint a, TimelinePoint b) { return a.stream == b.stream; };
  uses.erase(std::unique(uses.begin(), uses.end(), same_stream), uses.end());
  if (uses.empty()) return Awaited::nothing;
  if (await_unless_stalled(uses, {.reason = SyncReason::memory_pressure, .site = site}) == WaitResult::done) return Awaited::done;
  stalled = pending_work(uses);
  return Awaited::gave_up;
}

Block* DeviceMemory::State::allocate_under_pressure(std::size_t bytes, StreamId stream, std::string& stalled, Site site) {
  const auto retry = [&]() -> Block* {
    const HoldPool hold(mutex, site);
    pool().reclaim_all();
    return take(bytes, stream, site);
  };
  {
    const HoldPool hold(mutex, site);
    if (size_class::bytes_for(bytes) > limit().limit()) return nullptr;  // nothing that could be given up would help
  }
  if (const Relieve relief = relieve.load(std::memory_order_acquire); relief != nullptr && relief(device)) {
    if (Block* block = retry()) return block;
  }
  // Wait for no more than is needed: for the oldest first, then for twice as many. Others may take what comes free,
  // hence the bound. Inside a kernel nothing can be waited for.
  for (unsigned round = 0; round < 32 && !is_inside_kernel(); ++round) {
    if (await_pending(std::size_t{1} << round, stalled, site) != Awaited::done) break;
    if (Block* block = retry()) return block;
  }
  const HoldPool hold(mutex, site);
  pool().reclaim_all();
  // Memory in pieces: give the pieces back and map them again as one.
  if (pool().fits_after_trim(bytes)) stack.trim(site);
  return take(bytes, stream, site);
}

MemoryInfo DeviceMemory::State::info_locked() {
  const MemoryStatistics& statistics = stack.statistics();
  MemoryInfo out;
  out.in_use = statistics.in_use;
  out.peak = statistics.peak;
  out.requested = statistics.requested;
  out.allocations = statistics.allocations;
  out.reserved = limit().mapped();
  out.context = device.context_bytes();
  out.limit = limit().limit();
  out.largest_free_block = pool().largest_hole();
  const std::uint64_t free = out.reserved - out.in_use;
  if (free != 0) out.fragmentation = 1.0 - static_cast<double>(out.largest_free_block) / static_cast<double>(free);
  return out;
}

void DeviceMemory::State::refuse(std::size_t bytes, std::string stalled, Site site) {
  if (const FailureRef loss = space.loss()) loss->raise();
  OutOfMemoryFacts facts{
      .device = device.name(), .request = bytes, .info = {}, .refusal = {}, .owners = {}, .stalled = std::move(stalled)};
  {
    const HoldPool hold(mutex, site);
    facts.info = info_locked();
    if (size_class::bytes_for(bytes) <= facts.info.limit) facts.refusal = limit().refusal();
    facts.owners = tracking().owners();
  }
  throw OutOfMemory(out_of_memory_text(facts), site);
}

DeviceMemory::DeviceMemory(Device& device, const DeviceMemoryOptions& options) : DeviceMemory(device, device.memory(), options) {}

DeviceMemory::DeviceMemory(Device& device, MemorySpace& space, const DeviceMemoryOptions& options)
    : state_(std::make_unique<State>(device, space, options)) {
  if (options.growth) return;
  state_->prepare(Site{});
  const HoldPool hold(state_->mutex, Site{});
  // A device that refuses now is asked again at the first request, which then reports it.
  static_cast<void>(state_->pool().reserve(space.granule(), Site{}));
}

DeviceMemory::~DeviceMemory() {
  if (is_forked()) {
    static_cast<void>(state_.release());
    return;
  }
  {
    const HoldPool hold(state_->mutex, Site{});
    // What is owned or in use by work in flight stays mapped until the device itself ends.
    state_->stack.trim(Site{});
    if (state_->stack.statistics().live == 0) return;
    state_->abandoned = true;
  }
  static_cast<void>(state_.release());
}

Ref<Buffer> DeviceMemory::allocate(std::size_t bytes, StreamId stream, Site site) {
  require_usable(site);
  State& state = *state_;
  state.prepare(site);
  Block* block = nullptr;
  {
    const HoldPool hold(state.mutex, site);
    block = state.take(bytes, stream, site);
  }
  if (block == nullptr) [[unlikely]] {
    std::string stalled;
    block = state.allocate_under_pressure(bytes, stream, stalled, site);
    if (block == nullptr) state.refuse(bytes, std::move(stalled), site);
  }
  if (journal::is_recording()) [[unlikely]]
    state.note(journal::EventKind::alloc, bytes, site);
  if (AccessObserver* observer = access_observer()) [[unlikely]]
    observer->handed_out(block->address(), block->capacity(), block->home() == StreamId::none && block->is_known_settled());
  return Ref<Buffer>(block);
}

Device& DeviceMemory::device() const noexcept { return state_->device; }

MemoryInfo DeviceMemory::info() const {
  const HoldPool hold(state_->mutex, Site{});
  return state_->info_locked();
}

void DeviceMemory::reset_peak() {
  const HoldPool hold(state_->mutex, Site{});
  state_->stack.reset_peak();
}

void DeviceMemory::set_limit(std::uint64_t bytes, Site site) {
  State& state = *state_;
  const std::uint64_t wanted = limit_or_capacity(bytes, state.space);
  MemoryInfo found;
  // Returns true when the limit was set.
  const auto attempt = [&] {
    const HoldPool hold(state.mutex, site);
    const std::uint64_t most_mapped = state.limit().most_mapped(wanted);
    if (state.stack.statistics().in_use <= wanted && state.limit().mapped() > most_mapped) state.stack.trim(site);
    found = state.info_locked();
    if (found.in_use > wanted || found.reserved > most_mapped) return false;
    state.limit().set_limit(wanted);
    return true;
  };
  if (attempt()) return;
  // What was let go is given back as soon as the work in flight that uses it is done.
  std::string stalled;
  if (found.in_use <= wanted && !is_inside_kernel() &&
      state.await_pending(~std::size_t{0}, stalled, site) == State::Awaited::done && attempt())
    return;
  throw InvalidArgument(
      text("a memory limit of ", human_bytes(wanted), " was asked for on ", state.device.name(), ", but ",
           human_bytes(found.in_use), " are in use in ", human_bytes(found.reserved), " of mapped memory",
           found.in_use > wanted ? "" : " that cannot be given back in part",
           "; let go of tensors first, or ask for at least what is ", found.in_use > wanted ? "in use" : "mapped",
           stalled.empty() ? "" : ". Work that still uses memory does not get done:", stalled),
      site);
}

std::uint64_t DeviceMemory::trim(Site site) {
  const HoldPool hold(state_->mutex, site);
  return state_->stack.trim(site);
}

std::vector<MemoryOwner> DeviceMemory::owners() const {
  const HoldPool hold(state_->mutex, Site{});
  return state_->tracking().owners();
}

void DeviceMemory::set_relief(Relieve relieve) noexcept { state_->relieve.store(relieve, std::memory_order_release); }

}  // namespace tutti
