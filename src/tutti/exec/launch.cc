#include "tutti/exec/launch.h"

#include "tutti/exec/footprint.h"
#include "tutti/exec/launch_listener.h"
#include "tutti/exec/order.h"
#include "tutti/exec/payload.h"
#include "tutti/exec/stream.h"
#include "tutti/hal/door.h"
#include "tutti/journal/journal.h"
#include "tutti/place/settings.h"

namespace tutti {

namespace {

// Plain pointers: every operand of every op comes by.
inline void set_axes(Operand& operand, const Shape& shape, const Dims& strides, const Shape* like) {
  const std::int64_t* sizes = shape.begin();
  const std::int64_t* steps = strides.begin();
  if (like == nullptr || like == &shape || *like == shape) {
    operand.rank = static_cast<std::uint8_t>(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i) operand.axes[i] = {sizes[i], steps[i]};
    return;
  }
  const std::int64_t* wanted = like->begin();
  const std::size_t lead = like->size() - shape.size();
  operand.rank = static_cast<std::uint8_t>(like->size());
  for (std::size_t i = 0; i < like->size(); ++i) {
    const bool grown = i < lead || sizes[i - lead] != wanted[i];
    operand.axes[i] = {wanted[i], grown ? 0 : steps[i - lead]};
  }
}

// Work that does nothing but carry its edges.
constexpr WorkKind carrier_kind{
    [](const void*, void*, bool) {},
    [](void*, RunContext&) noexcept -> FailureRef { return nullptr; },
    [](void*, const FailureRef&) noexcept {},
    [](const void*, RunContext&) noexcept -> FailureRef { return nullptr; },
    [](void*, RunContext&) noexcept -> FailureRef { return nullptr; },
    [](void*, const FailureRef&) noexcept -> FailureRef { return nullptr; },
};

}  // namespace

Operand& Launch::next() {
  if (count_ < inline_operands) return few_[count_++];
  if (many_.empty()) many_.assign(few_.begin(), few_.end());
  ++count_;
  return many_.emplace_back();
}

void Launch::add(const TensorImpl& tensor, const Shape* like, bool is_write) {
  Buffer& buffer = *tensor.buffer();
  Operand& operand = next();
  operand.data = tensor.kernel_address();
  operand.failure = &buffer.failure();
  operand.dtype = tensor.dtype();
  operand.is_immediate = false;
  set_axes(operand, tensor.shape(), tensor.strides(), like);
  note(buffer, &tensor, is_write);
}

void Launch::order_always(const Buffer& buffer) noexcept {
  for (Use& use : uses_) use.is_own = use.is_own || use.buffer == &buffer;
}

void Launch::input(const TensorImpl& tensor, Access access, const Shape* like) {
  add(tensor, like, access == Access::update);
  ++inputs_;
}

void Launch::scalar(DType dtype, const std::array<std::byte, 8>& value, const Shape* like) {
  Operand& operand = next();
  operand.data = const_cast<std::byte*>(value.data());
  operand.failure = nullptr;
  operand.dtype = dtype;
  operand.is_immediate = true;
  set_axes(operand, {}, {}, like);
  ++inputs_;
}

void Launch::output(const TensorImpl& tensor) {
  add(tensor, nullptr, true);
  ++outputs_;
}

void Launch::scratch(Buffer& buffer) {
  Operand& operand = next();
  operand.data = buffer.kernel_address();
  operand.failure = &buffer.failure();
  operand.dtype = DType::u8;
  operand.is_immediate = false;
  operand.rank = 1;
  operand.axes[0] = {static_cast<std::int64_t>(buffer.bytes()), 1};
  note(buffer, nullptr, true);
}

void Launch::take_axes_in(const MemoryOrder& order) {
  Operand* operands = many_.empty() ? few_.data() : many_.data();
  for (std::size_t k = 0; k < std::size_t{inputs_} + outputs_; ++k) {
    const std::array<Axis, most_axes> axes = operands[k].axes;
    for (std::size_t i = 0; i < operands[k].rank; ++i) operands[k].axes[i] = axes[order.axes[i]];
  }
}

KernelCall Launch::call() const noexcept {
  KernelCall out;
  out.op = &op_;
  out.function = function_;
  out.site = site_;
  out.inputs = inputs_;
  out.outputs = outputs_;
  out.operands = many_.empty() ? few_.data() : many_.data();
  out.attributes = &attributes_;
  return out;
}

Kernel Launch::kernel() const noexcept {
  return op_.kernels[static_cast<std::size_t>(on_.device().backend())].load(std::memory_order_acquire);
}

Launch::MemoryUses Launch::memory_uses() const {
  MemoryUses out;
  const Operand* operands = many_.empty() ? few_.data() : many_.data();
  std::size_t next = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (operands[i].is_immediate) continue;
    const Use& use = uses_[next++];
    MemoryUse made = footprint(operands[i], *use.buffer, use.is_write);
    made.is_ordered = use.is_own || !detail::thread_state.settings.manual_order;
    out.push_back(made);
  }
  return out;
}

void Launch::run_in_caller() {
  if (AccessObserver* observer = access_observer()) [[unlikely]] {
    const TimelinePoint last = current_stream(on_).last();
    const MemoryUses uses = memory_uses();
    observer->before_run({.op = op_.name.c_str(),
                          .site = site_,
                          .device = &on_.device(),
                          .point = {last.stream, last.value + 1},
                          .uses = uses.view()});
  }
  const bool traced = journal::is_recording();
  const Nanoseconds begin = traced ? now() : 0;
  on_.device().idle().end();
  KernelContext context{on_.device().parallel(), nullptr};
  if (FailureRef failure = run_call(call(), count_, kernel(), context, on_.name())) [[unlikely]]
    current_stream(on_).report(std::move(failure), current_stream(on_).last());
  for (const Use& use : uses_) {
    if (use.is_write) use.buffer->note_write({}, {op_.name.c_str(), function_});
  }
  if (traced) [[unlikely]]
    journal::record({.kind = journal::EventKind::run, .name = op_.name.c_str(), .site = site_, .begin = begin, .end = now()});
  if (is_heard()) [[unlikely]]
    tell_listeners(current_stream(on_));
}

bool Launch::is_heard() noexcept { return detail::listeners.load(std::memory_order_relaxed) != 0; }

void Launch::tell_listeners(DeviceStream& stream) const {
  InlineVector<LaunchListener::Use, inline_operands> uses;
  for (const Use& use : uses_) uses.push_back({use.buffer, use.tensor, use.is_write});
  LaunchListener* const own = detail::thread_state.listener;
  if (own == nullptr) return detail::tell_all_listeners(call(), uses.view());
  own->launched({call(), count_, kernel(), on_, stream, uses.view(), traffic_});
}

bool Launch::tell(AccessObserver& observer, DeviceStream& stream, const Points& after) const {
  const MemoryUses uses = memory_uses();
  try {
    return observer.before_submit({.op = op_.name.c_str(),
                                   .site = site_,
                                   .device = &stream.device(),
                                   .point = {stream.id(), stream.last().value + 1},
                                   .uses = uses.view(),
                                   .after = after.view()});
  } catch (...) {
    // The stream counts the edges as made already, so they are made, though the work is not.
    if (!after.empty()) stream.submit({.kind = &carrier_kind, .name = "wait", .site = site_}, after.view());
    throw;
  }
}

void Launch::prepare(const KernelCall& made, DeviceStream& stream) const {
  stream.prepare(site_);
  const Prepare own = op_.prepares[static_cast<std::size_t>(on_.device().backend())].load(std::memory_order_acquire);
  if (own == nullptr) return;
  try {
    KernelContext context{on_.device().parallel(), &stream};
    own(made, context);
  } catch (...) {
    // The launch meets the same, and what it writes fails with it.
  }
}

void Launch::submit(DeviceStream& stream) {
  const KernelCall made = call();
  prepare(made, stream);
  const CallSource source{made, count_, kernel()};
  const Work work{.kind = &packed_call_kind,
                  .name = op_.name.c_str(),
                  .function = function_,
                  .site = site_,
                  .source = &source,
                  .traffic_bytes = traffic_,
                  .is_copy = op_.is_copy};
  const bool traced = journal::is_recording();
  const Nanoseconds begin = traced ? now() : 0;
  AccessObserver* const observer = access_observer();
  bool has_more_to_say = false;
  TimelinePoint point;
  for (;;) {
    std::unique_lock lock(stream.order());
    const TimelinePoint full = stream.full_until(traffic_);
    if (full.stream != StreamId::none) [[unlikely]] {
      lock.unlock();
      await(full, {.reason = SyncReason::back_pressure, .site = site_});
      continue;
    }
    Points after;
    const bool is_manual = detail::thread_state.settings.manual_order;
    for (const Use& use : uses_) {
      if (is_manual && !use.is_own) [[unlikely]]
        continue;
      use.is_write ? use.buffer->before_write(stream.id(), after) : use.buffer->before_read(stream.id(), after);
    }
    derive_edges(stream, after, site_);
    if (observer != nullptr) [[unlikely]]
      has_more_to_say = tell(*observer, stream, after);
    stream.device().idle().end();
    point = stream.submit(work, after.view());
    for (const Use& use : uses_)
      use.is_write ? use.buffer->note_write(point, {op_.name.c_str(), function_}) : use.buffer->note_read(point);
    break;
  }
  stream.kick();
  if (has_more_to_say) [[unlikely]]
    observer->speak();
  if (traced) [[unlikely]] {
    journal::record({.kind = journal::EventKind::enqueue,
                     .name = op_.name.c_str(),
                     .site = site_,
                     .begin = begin,
                     .end = now(),
                     .value = point.value,
                     .target = point.stream});
  }
  if (is_heard()) [[unlikely]]
    tell_listeners(stream);
}

}  // namespace tutti
