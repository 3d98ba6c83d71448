#include "tutti/exec/transfer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/launch.h"
#include "tutti/exec/stream.h"
#include "tutti/hal/door.h"
#include "tutti/hal/kernel_thread.h"
#include "tutti/memory/host_memory.h"
#include "tutti/place/placement.h"
#include "tutti/place/settings.h"
#include "tutti/tensor/mirrors.h"
#include "tutti/tensor/view.h"

namespace tutti {

namespace {

// Staged copies go in chunks of this size, a few of them in flight: while one is on its way the next is filled.
constexpr std::size_t chunk_bytes = std::size_t{16} << 20U;
constexpr std::size_t chunks_in_flight = 3;
// Results up to this size stay in the memory they were staged in; larger ones would pin too much.
constexpr std::size_t most_pinned_result = std::size_t{1} << 20U;

// Which thread does the host's part of a staged copy.
enum class HostPart : std::uint8_t {
  as_ops_do,  // the caller, if that is how CPU ops run and nothing is in the way, else the CPU's stream
  in_caller,  // the caller, who waits for room to stage in: the source is gone when the call returns
};

bool is_host(const Tensor& x) { return x.impl().buffer()->device().memory().is_host_visible(); }
std::size_t bytes_of(const Tensor& x, Site site) { return checked_bytes("copy_to", x.dtype(), x.shape(), site); }

bool can_run_in_caller(LogicalDevice& mover, const Tensor& from) {
  return mover.device().runs_in_caller() && detail::thread_state.settings.synchronous && from.impl().buffer()->is_ready();
}

StreamId stream_for(LogicalDevice& mover, bool in_caller) { return in_caller ? StreamId::none : current_stream(mover).id(); }

// Which end of a copy is memory the program never sees.
enum class Staged : std::uint8_t { neither, from, to };

// One copy, by the device that moves the bytes. `is_part`: an earlier part of the target that failed keeps it failed.
void launch_copy(const Tensor& from, const Tensor& to, LogicalDevice& mover, bool in_caller, bool is_part, Site site,
                 Staged staged = Staged::neither, const char* function = nullptr) {
  static const OpRow& copy = find_op("_Copy");
  static const Attributes none{};
  Launch launch(copy, none, mover, site, function);
  launch.input(from.impl(), Access::read, &to.shape());
  if (is_part) launch.input(to.impl(), Access::read, nullptr);
  launch.output(to.impl());
  if (staged != Staged::neither) launch.order_always(*(staged == Staged::from ? from : to).impl().buffer());
  if (in_caller) return launch.run_in_caller();
  DeviceStream& stream = current_stream(mover);
  launch.submit(stream);
  // Someone will read it, perhaps after more work was enqueued: what shows that it is there comes right behind it.
  if (is_host(to)) stream.expect(stream.last().value);
}

// Of a tensor with one axis.
Tensor part_of(const Tensor& x, std::int64_t start, std::int64_t count) {
  SliceAttributes part;
  part.axes.push_back({start, count, 1});
  return detail::sliced(x, part);
}

Tensor flat(const Tensor& x) { return *detail::try_reshape(x, {x.size()}); }

// Between host memory the device cannot reach and the device, through memory it can reach.
class StagedCopy {
 public:
  StagedCopy(LogicalDevice& device, HostPart host_part, Site site)
      : device_(device), cpu_(runtime(site).cpu()), host_part_(host_part), site_(site) {}

  void run(const Tensor& from, const Tensor& to) {
    const std::size_t bytes = bytes_of(from, site_);
    if (bytes <= chunk_bytes) return copy_part(from, to, bytes, false);
    if (!from.is_contiguous()) return run(fresh_copy(from, runtime(site_).of(from.impl().buffer()->device()), site_), to);
    if (!(from.shape() == to.shape()) || !to.is_contiguous()) {
      // Spread out where it arrives.
      LogicalDevice& there = runtime(site_).of(to.impl().buffer()->device());
      const Tensor dense =
          make_dense(there.memory().allocate(bytes, stream_for(there, false), site_), from.dtype(), from.shape());
      run(from, dense);
      return launch_copy(dense, to, there, false, false, site_, Staged::from);
    }
    const Tensor source = flat(from);
    const Tensor target = flat(to);
    const auto step = static_cast<std::int64_t>(chunk_bytes / size_of(from.dtype()));
    for (std::int64_t at = 0; at < source.size(); at += step) {
      const std::int64_t count = std::min(step, source.size() - at);
      const Tensor some = part_of(source, at, count);
      copy_part(some, part_of(target, at, count), bytes_of(some, site_), at > 0);
    }
  }

 private:
  struct Chunk {
    Tensor memory;
    TimelinePoint used;
  };

  void copy_part(const Tensor& from, const Tensor& to, std::size_t bytes, bool is_part) {
    if (is_host(from)) {
      const bool forced = host_part_ == HostPart::in_caller;
      bool in_caller = forced || can_run_in_caller(cpu_, from);
      const Tensor staged = next_chunk(bytes, from, in_caller);
      if (!forced) in_caller = in_caller && staged.impl().buffer()->is_idle();
      launch_copy(from, staged, cpu_, in_caller, false, site_, Staged::to);
      launch_copy(staged, to, device_, false, is_part, site_, Staged::from);
      note_use(current_stream(device_).last());
    } else {
      const Tensor staged = next_chunk(bytes, from, false);
      launch_copy(from, staged, device_, false, false, site_, Staged::to);
      launch_copy(staged, to, cpu_, false, is_part, site_, Staged::from);
      note_use(current_stream(cpu_).last());
    }
  }

  // Memory to stage in, of the part's shape. A chunk that was used before is used again: whoever writes it comes after that.
  Tensor next_chunk(std::size_t bytes, const Tensor& like, bool in_caller) {
    Chunk& chunk = chunks_[next_++ % chunks_in_flight];
    if (!chunk.memory.is_defined()) {
      Ref<Buffer> memory = device_.staging()->allocate(bytes, stream_for(cpu_, in_caller), site_);
      return chunk.memory = make_dense(std::move(memory), like.dtype(), like.shape());
    }
    if (host_part_ == HostPart::in_caller) await(chunk.used, {.reason = SyncReason::pageable_staging, .site = site_});
    return like.size() == chunk.memory.size() ? chunk.memory : part_of(chunk.memory, 0, like.size());
  }
  void note_use(TimelinePoint point) { chunks_[(next_ - 1) % chunks_in_flight].used = point; }

  LogicalDevice& device_;
  LogicalDevice& cpu_;
  HostPart host_part_;
  Site site_;
  std::array<Chunk, chunks_in_flight> chunks_;
  std::size_t next_ = 0;
};

// Copies on the side that is not the host; between two of those, on the one that receives.
LogicalDevice& mover_between(const Tensor& x, LogicalDevice& to, Site site) {
  return to.is_cpu() ? runtime(site).of(x.impl().buffer()->device()) : to;
}

void move(const Tensor& from, const Tensor& to, LogicalDevice& mover, bool in_caller, HostPart host_part, Site site,
          const char* function = nullptr) {
  const Tensor* host = mover.staging() == nullptr ? nullptr : is_host(from) ? &from : is_host(to) ? &to : nullptr;
  if (host == nullptr || host->size() == 0 || mover.device().reaches(host->impl().address(), bytes_of(*host, site)))
    return launch_copy(from, to, mover, in_caller, false, site, Staged::neither, function);
  StagedCopy(mover, host_part, site).run(from, to);
}

// Where the copy of a device's value for the host is put: into memory the device reaches, if it is small and there is room.
Ref<Buffer> memory_for_copy(LogicalDevice& to, LogicalDevice& mover, std::size_t bytes, StreamId stream, Site site) {
  if (to.is_cpu() && mover.staging() != nullptr && bytes <= most_pinned_result) {
    try {
      return mover.staging()->allocate(bytes, stream, site);
    } catch (const OutOfMemory&) {
      // Ordinary memory will do; the copy is staged then.
    }
  }
  return to.memory().allocate(bytes, stream, site);
}

}  // namespace

void detail::refuse_inside_kernel(const char* function, Site site) {
  if (!is_inside_kernel()) [[likely]]
    return;
  throw InvalidState(text("op ", function,
                          " was called inside a kernel; a kernel computes on its operands only: compose ops on the host instead"),
                     site);
}

std::size_t checked_bytes(const char* function, DType dtype, const Shape& shape, Site site) {
  const std::optional<std::int64_t> count = element_count(shape);
  std::int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, static_cast<std::int64_t>(size_of(dtype)), &bytes)) {
    throw ShapeError(text(function, ": a tensor of shape ", to_string(shape), " and dtype ", to_string(dtype),
                          " cannot be: sizes must not be negative and all bytes must fit in 63 bits"),
                     site);
  }
  return static_cast<std::size_t>(bytes);
}

Tensor fresh_copy(const Tensor& x, LogicalDevice& to, Site site, const char* function) {
  require_usable(site);
  detail::refuse_inside_kernel(function != nullptr ? function : "copy_to", site);
  LogicalDevice& mover = mover_between(x, to, site);
  const bool in_caller = can_run_in_caller(mover, x);
  const std::size_t bytes = bytes_of(x, site);
  Tensor out = make_dense(memory_for_copy(to, mover, bytes, stream_for(mover, in_caller), site), x.dtype(), x.shape());
  move(x, out, mover, in_caller, HostPart::as_ops_do, site, function);
  return out;
}

Tensor copy_to_device(const Tensor& x, LogicalDevice& to, const OpName& for_op, int input, Site site) {
  Device& from = x.impl().buffer()->device();
  const bool is_here = &from == &to.device();
  if (is_here && x.is_contiguous()) return x;
  if (is_here || input < 0) return fresh_copy(x, to, site);
  if (Tensor kept = Mirrors::find(x.impl(), to.device()); kept.is_defined()) return kept;
  record_copy(for_op, from, to, bytes_of(x, site), static_cast<unsigned>(input), site);
  Tensor out = fresh_copy(x, to, site);
  Mirrors::keep(x.impl(), out);
  return out;
}

Tensor pinned_copy(const Tensor& x, LogicalDevice& by, Site site) {
  require_usable(site);
  detail::refuse_inside_kernel("copy_to", site);
  LogicalDevice& cpu = runtime(site).cpu();
  LogicalDevice& mover = mover_between(x, cpu, site);
  const bool in_caller = can_run_in_caller(mover, x);
  DeviceMemory& memory = by.staging() != nullptr ? *by.staging() : cpu.memory();
  Tensor out = make_dense(memory.allocate(bytes_of(x, site), stream_for(mover, in_caller), site), x.dtype(), x.shape());
  move(x, out, mover, in_caller, HostPart::as_ops_do, site);
  return out;
}

void overwrite(const Tensor& target, const Tensor& value, Site site) {
  require_usable(site);
  detail::refuse_inside_kernel("copy_to", site);
  LogicalDevice& on = runtime(site).of(target.impl().buffer()->device());
  LogicalDevice& mover = mover_between(value, on, site);
  const bool in_caller = can_run_in_caller(mover, value) && target.impl().buffer()->is_idle();
  move(value, target, mover, in_caller, HostPart::as_ops_do, site);
}

std::shared_ptr<const CallData> HostBytes::keep() const {
  auto own = std::make_shared_for_overwrite<std::byte[]>(bytes_.size());
  std::copy(bytes_.begin(), bytes_.end(), own.get());
  auto out = std::make_shared<HostBytes>(std::span<const std::byte>(own.get(), bytes_.size()));
  out->kept_ = std::move(own);
  return out;
}

namespace {

// On the device an op without a kernel preference would go to (scope or automatic).
Tensor upload(const OpCall& call) {
  static const Attributes none{};
  const auto& [dtype, shape] = *call.wanted;
  const std::byte* const bytes = call.data_as<HostBytes>().data();
  const Site site = call.site;
  Runtime& instance = runtime(site);
  const std::size_t size = checked_bytes(call.function(), dtype, shape, site);
  LogicalDevice& on = place_op(instance, call.names(), call.op.mask_for(DType::f32), {}, site);
  if (on.staging() != nullptr && size > chunk_bytes) {
    const Tensor lent =
        make_dense(ExternalBuffer::wrap(const_cast<std::byte*>(bytes), size, instance.cpu().device(), {}, site), dtype, shape);
    Tensor out = make_dense(on.memory().allocate(size, current_stream(on).id(), site), dtype, shape);
    move(lent, out, on, false, HostPart::in_caller, site);
    return out;
  }
  // Nobody else uses this memory yet, so the host may write it at once; the device fetches it in its own time.
  DeviceMemory& host = on.is_cpu() ? on.memory() : on.staging() != nullptr ? *on.staging() : instance.cpu().memory();
  Tensor staged = make_dense(host.allocate(size, StreamId::none, site), dtype, shape);
  staged.impl().buffer()->failure().clear();
  if (size > 0) std::memcpy(staged.impl().address(), bytes, size);
  if (on.is_cpu()) return staged;
  DeviceStream& stream = current_stream(on);
  Tensor out = make_dense(on.memory().allocate(size, stream.id(), site), dtype, shape);
  Launch launch(call.op, none, on, site, call.function());
  launch.input(staged.impl(), Access::read, nullptr);
  launch.output(out.impl());
  launch.submit(stream);
  return out;
}

void run_constant(OpCall& call) { call.outputs.push_back(upload(call)); }

void run_copy(OpCall& call) {
  const Tensor x = call.tensor(0);
  LogicalDevice& from = runtime(call.site).of(x.impl().buffer()->device());
  LogicalDevice& to = call.pinned != nullptr ? *call.pinned : from;
  if (call.attributes.size() == 0) {
    record_placement(call.op.name.c_str(), to, PlacementReason::explicit_copy, call.site);
    return call.outputs.push_back(fresh_copy(x, to, call.site));
  }
  const auto [for_op, input, if_elsewhere] = call.attributes.as<CopyAttributes>();
  if (input >= 0) return call.outputs.push_back(copy_to_device(x, to, for_op, static_cast<int>(input), call.site));
  call.outputs.push_back(if_elsewhere && &from == &to ? x : fresh_copy(x, to, call.site));
}

const OpRow& constant_row = register_op({.name = "_EagerConst",
                                         .function = "constant",
                                         .is_copy = true,
                                         .strided = true,
                                         .kind = OpKind::constant,
                                         .run = run_constant});
const OpRow& copy_row = register_op(
    {.name = "_Copy", .function = "copy_to", .is_copy = true, .strided = true, .kind = OpKind::copy, .run = run_copy});

}  // namespace

Tensor copied(const Tensor& x, LogicalDevice& to, const CopyAttributes& attributes, Site site) {
  OpCall call(copy_row, site);
  call.add(x);
  call.pinned = &to;
  call.attributes = Attributes(attributes);
  return dispatch_one(call);
}

void raise_failure(const Tensor& x) {
  if (const FailureRef failure = x.impl().buffer()->failure().get()) failure->raise();
}

}  // namespace tutti
