#include "tutti/graph/recorder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tutti/base/text.h"
#include "tutti/exec/order_calls.h"
#include "tutti/exec/transfer.h"
#include "tutti/hal/door.h"
#include "tutti/hal/function_name.h"

namespace tutti::graph {

namespace {

struct HeardSyncs final : detail::SyncScopeEntry {
  explicit HeardSyncs(Recorder& recorder) noexcept : to(recorder) {}
  void happened(const SyncRequest& request, bool is_allowed) noexcept override {
    SyncScopeEntry::happened(request, is_allowed);
    to.heard_sync(request);
  }
  Recorder& to;
};

bool is_pinned(const Buffer& memory) {
  if (!memory.device().memory().is_host_visible()) return false;
  const auto devices = runtime(memory.site()).devices();
  return std::any_of(devices.begin(), devices.end(), [&](LogicalDevice* each) {
    return each->staging() != nullptr && each->device().reaches(memory.address(), memory.bytes());
  });
}

std::string rule_of(SyncReason reason) {
  if (reason == SyncReason::value_read) return "the host reads its value; return the tensor and read it outside";
  if (reason == SyncReason::data_dependent_shape)
    return "the shape of its result depends on values; use the form that takes a size";
  return text("the host waits (", to_string(reason), "); wait outside");
}

}  // namespace

Recording::Recording(Recorder& recorder, Site site)
    : calls_(recorder), syncs_("capture", std::make_unique<HeardSyncs>(recorder), site), launches_(recorder) {}

void Recorder::add_input(const Tensor& x, bool is_own) {
  const std::size_t slot = record_->slots.size();
  const Buffer& memory = *x.impl().buffer();
  record_->slots.push_back({.kind = Slot::Kind::input,
                            .device = &memory.device(),
                            .bytes = memory.bytes(),
                            .address = x.impl().kernel_address(),
                            .input = slot});
  starts_.push_back(x.impl().kernel_address() - memory.kernel_address());
  if (!by_tensor_.try_emplace(&x.impl(), slot).second) shared_inputs_.push_back(inputs_.size());
  if (keeps_calls_) (void)name_of(x.impl());
  inputs_.push_back(x);
  is_own_.push_back(is_own);
}

std::size_t Recorder::add_slot(Slot slot, const Buffer& memory) {
  slot.device = &memory.device();
  slot.bytes = memory.bytes();
  slot.address = memory.kernel_address();
  slot.is_pinned = is_pinned(memory);
  const std::lock_guard lock(mutex_);
  const auto stranger = strangers_.find(&memory);
  if (slot.kind == Slot::Kind::constant && stranger != strangers_.end() && stranger->second.allocated == memory.site())
    refuse(stranger->second.op, stranger->second.site,
           "another thread made it while the function ran, and would not in a replay; make it outside, or here");
  record_->slots.push_back(std::move(slot));
  starts_.push_back(0);
  return by_memory_[&memory] = record_->slots.size() - 1;
}

void Recorder::launched_elsewhere(const KernelCall& call, std::span<const Use> uses) {
  if (std::this_thread::get_id() == thread_) return;  // what it does on the way and is no part of the record
  const std::lock_guard lock(mutex_);
  for (const Use& use : uses) {
    const auto known = by_memory_.find(use.buffer);
    if (known == by_memory_.end()) {
      if (use.is_write) strangers_[use.buffer] = {call.op->name.c_str(), call.site, use.buffer->site()};
    } else if (record_->slots[known->second].kind == Slot::Kind::value) {
      add_offender(offenders_elsewhere_, call.op->name.c_str(), call.site,
                   "another thread uses a value of the function, and would not in a replay; do it outside, or here");
    }
  }
}

std::size_t Recorder::slot_of(const TensorImpl& tensor) {
  if (const auto known = by_tensor_.find(&tensor); known != by_tensor_.end()) return known->second;
  if (const auto known = by_memory_.find(tensor.buffer().get()); known != by_memory_.end()) return known->second;
  return add_slot({.kind = Slot::Kind::constant, .memory = tensor.buffer()}, *tensor.buffer());
}

// The runtime itself may have put a view between the call and the kernel. `input`: which of the kernel's inputs it is.
std::size_t Recorder::slot_of(const Use& use, std::size_t input, bool is_own_op) {
  if (use.tensor != nullptr) {
    if (const auto known = by_tensor_.find(use.tensor); known != by_tensor_.end()) return known->second;
  }
  if (!use.is_write) {
    if (is_own_op && input < current_.inputs.size() && current_.inputs[input].first == use.buffer)
      return current_.inputs[input].second;
    std::size_t found = nowhere;
    for (const auto& [memory, slot] : current_.inputs) {
      if (memory != use.buffer) continue;
      if (found != nowhere && found != slot)
        refuse(current_.call->op.name.c_str(), current_.call->site,
               "two of its inputs lie in the same memory, and a copy of one of them is needed; copy one of them first");
      found = slot;
    }
    if (found != nowhere) return found;
  }
  if (const auto known = by_memory_.find(use.buffer); known != by_memory_.end()) return known->second;
  return add_slot({.kind = use.is_write ? Slot::Kind::value : Slot::Kind::constant, .memory = Ref<Buffer>(use.buffer)},
                  *use.buffer);
}

void Recorder::launched(const Launched& launch) {
  RecordedLaunch made;
  made.op = launch.call.op;
  made.function = launch.call.function;
  made.site = launch.call.site;
  made.kernel = launch.kernel;
  made.on = &launch.on;
  made.stream = &launch.stream;
  made.attributes = *launch.call.attributes;
  made.inputs = launch.call.inputs;
  made.outputs = launch.call.outputs;
  made.traffic_bytes = launch.traffic_bytes;
  if (current_.call == nullptr) {
    refuse(made.op->name.c_str(), made.site, "work that no call of an op asked for; do it outside");
  }
  const bool is_own_op = current_.call != nullptr && &current_.call->op == made.op;
  if (is_own_op && current_.call->draw.generator != nullptr) {
    made.draw = current_.call->draw;
    made.generator = Ref<Generator::State>(made.draw.generator);
    made.drawn = drawn_.size();
    drawn_.push_back({made.op, detail::read_as<Generator::Reserved>(made.attributes.data())});
  } else if (is_own_op && current_.call->draw.repeats) {
    made.drawn = drawn_before(*made.op, made.attributes);
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < launch.operand_count; ++i) {
    Operand operand = launch.call.operands[i];
    made.scalars.emplace_back();
    if (operand.is_immediate) {
      std::memcpy(made.scalars.back().data(), operand.data, made.scalars.back().size());
    } else {
      const Use& use = launch.uses[next++];
      const std::size_t slot = slot_of(use, i, is_own_op);
      made.uses.push_back({slot, operand.data - use.buffer->kernel_address() - start_of(slot), i, use.is_write});
    }
    operand.data = nullptr;
    operand.failure = nullptr;
    made.operands.push_back(operand);
  }
  hold_stream(launch.stream);
  record_->launches.push_back(std::move(made));
}

void Recorder::hold_stream(DeviceStream& stream) {
  const auto is_it = [&](const Stream& each) { return &each.base() == &stream; };
  if (std::any_of(record_->streams.begin(), record_->streams.end(), is_it)) return;
  for (const Stream& each : open_streams()) {
    if (is_it(each)) return record_->streams.push_back(each);
  }
}

void Recorder::add_offender(std::vector<Offender>& to, const char* op, Site site, const std::string& rule) const {
  const auto known = std::find_if(to.begin(), to.end(), [&](const Offender& each) { return each.site == site; });
  if (known == to.end()) to.push_back({std::string(*op == '\0' ? "a tensor" : function_of(op)), site, rule});
}

void Recorder::refuse(const char* op, Site site, const std::string& rule) { add_offender(offenders_, op, site, rule); }

void Recorder::heard_sync(const SyncRequest& request) {
  // The read of a count was heard before the reason for it.
  if (request.reason == SyncReason::data_dependent_shape)
    std::erase_if(offenders_, [&](const Offender& each) { return each.site == request.site; });
  refuse(*request.op.row != '\0' ? request.op.function : to_string(request.reason), request.site, rule_of(request.reason));
}

std::size_t Recorder::bind(const std::shared_ptr<VariableCell>& cell, Site site) {
  const Unheard meanwhile;
  cell->bind(site);
  const Tensor storage = cell->storage();
  const Buffer& memory = *storage.impl().buffer();
  const auto known = by_memory_.find(&memory);
  if (known == by_memory_.end()) return add_slot({.kind = Slot::Kind::variable, .cell = cell}, memory);
  const std::lock_guard lock(mutex_);
  Slot& slot = record_->slots[known->second];  // made inside: its first value was written by a launch
  slot.kind = Slot::Kind::variable;
  slot.cell = cell;
  slot.memory = {};
  return known->second;
}

void Recorder::note_outputs(OpCall& call) {
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const Tensor& output = call.outputs[i];
    if (keeps_calls_ && output.is_defined()) (void)name_of(output.impl());
    if (!output.is_defined() || by_tensor_.contains(&output.impl())) continue;
    std::size_t slot = nowhere;
    for (const auto& [memory, of_input] : current_.inputs) {
      if (memory == output.impl().buffer().get()) slot = of_input;
    }
    by_tensor_[&output.impl()] = slot != nowhere ? slot : slot_of(output.impl());
    made_.push_back({output, &call.op, call.site});
  }
}

std::size_t Recorder::drawn_before(const OpRow& op, const Attributes& attributes) const {
  const auto numbers = detail::read_as<Generator::Reserved>(attributes.data());
  for (std::size_t i = drawn_.size(); i-- > 0;) {
    if (drawn_[i].op == &op && drawn_[i].numbers.key == numbers.key && drawn_[i].numbers.counter == numbers.counter) return i;
  }
  return nowhere;
}

std::size_t Recorder::name_of(const TensorImpl& tensor) { return names_.try_emplace(&tensor, names_.size()).first->second; }

std::string Recorder::name_of(const VariableCell& cell) {
  if (cell.number() < first_cell_) return text("variable ", cell.number());
  auto found = std::find(new_cells_.begin(), new_cells_.end(), cell.number());
  if (found == new_cells_.end()) found = new_cells_.insert(found, cell.number());
  return text("new variable ", found - new_cells_.begin());
}

void Recorder::note_call(const OpCall& call) {
  if (!keeps_calls_) return;
  Attributes attributes = call.attributes;
  if (call.draw.generator != nullptr || call.draw.repeats) attributes.overwrite(0, Generator::Reserved{});
  std::string line = text(call.op.name, attributes.to_string());
  for (std::size_t i = 0; i < call.inputs().size(); ++i) {
    const OpInput& input = call.inputs()[i];
    if (input.tensor == nullptr) {
      line += text(" ", to_string(input.scalar_dtype));
      for (const std::byte each : input.scalar) line += text(":", static_cast<int>(each));
    } else {
      const std::size_t before = names_.size();
      line += text(" ", to_string(input.tensor->dtype()), to_string(input.tensor->shape()), " of ", name_of(*input.tensor));
      if (names_.size() == before) continue;
      named_.emplace_back(Ref<TensorImpl>(const_cast<TensorImpl*>(input.tensor)));
      // From outside: the first record holds its memory, so another one lies elsewhere.
      line += text(" at ", reinterpret_cast<std::uintptr_t>(input.tensor->kernel_address()));
    }
  }
  if (call.op.kind == OpKind::read || call.op.kind == OpKind::update)
    line += text(" of ", name_of(call.data_as<CellData>().cell()));
  if (call.op.kind == OpKind::constant && call.data != nullptr && call.wanted != nullptr) {
    const std::size_t bytes = checked_bytes(call.function(), call.wanted->dtype, call.wanted->shape, call.site);
    const std::string_view held(reinterpret_cast<const char*>(call.data_as<HostBytes>().data()), bytes);
    line += text(" value ", std::hash<std::string_view>{}(held));
  }
  if (call.pinned != nullptr) line += text(" on ", call.pinned->name());
  record_->called.push_back(line + " at " + call.site.to_string());
}

void Recorder::order(OpCall& call) {
  pass_on(call);
  OrderStep step{.before = record_->launches.size()};
  if (const auto* recorded = dynamic_cast<const RecordData*>(call.data)) {
    if (recorded->what() == RecordData::What::time)
      return refuse(call.op.name.c_str(), call.site, "an event that takes the time; measure outside");
    const TimelinePoint point = recorded->recorded().point;
    step.stream = &recorded->stream().base();
    step.event = record_->events.size();
    record_->events.push_back(recorded->cell());
    record_->streams.push_back(recorded->stream());
    events_[{index_of(point.stream), point.value}] = step.event;
  } else {
    const auto& wait = call.data_as<WaitData>();
    step.stream = &wait.stream().base();
    record_->streams.push_back(wait.stream());
    if (wait.other()) {
      step.kind = OrderStep::Kind::wait_stream;
      step.other = &wait.other()->base();
      record_->streams.push_back(*wait.other());
    } else if (wait.point().stream == StreamId::none) {
      return;
    } else if (const auto known = events_.find({index_of(wait.point().stream), wait.point().value}); known != events_.end()) {
      step.kind = OrderStep::Kind::wait_event;
      step.event = known->second;
    } else {
      return refuse(call.op.name.c_str(), call.site,
                    "it waits for an event that was recorded outside, which a replay would not see again; wait outside");
    }
  }
  record_->order.push_back(step);
}

void Recorder::run(OpCall& call) {
  if (call.op.kind == OpKind::order) return order(call);
  // A loop's own calls come here, one by one.
  if (call.op.kind == OpKind::region) return call.op.run(call);
  Current outer = std::exchange(current_, {});
  current_.call = &call;
  for (const OpInput& input : call.inputs()) {
    if (input.tensor != nullptr) {
      current_.inputs.emplace_back(input.tensor->buffer().get(), slot_of(*input.tensor));
    } else {
      current_.inputs.emplace_back(nullptr, nowhere);
    }
  }
  note_call(call);
  struct Restore {
    Current& to;
    Current& from;
    ~Restore() { to = std::move(from); }
  } const restore{current_, outer};
  switch (call.op.kind) {
    case OpKind::constant: {
      const Unheard meanwhile;
      pass_on(call);
      // Another thread may have had its memory before.
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < call.outputs.size(); ++i) {
        if (call.outputs[i].is_defined()) strangers_.erase(call.outputs[i].impl().buffer().get());
      }
      break;
    }
    case OpKind::read:
    case OpKind::update: {
      const std::shared_ptr<VariableCell>& cell = call.data_as<CellData>().shared();
      bind(cell, call.site);
      pass_on(call);
      break;
    }
    case OpKind::collective:
      refuse(call.op.name.c_str(), call.site, "it meets other devices or processes; call it outside");
      pass_on(call);
      break;
    default: pass_on(call);
  }
  note_outputs(call);
}

void Recorder::look_for_kept(std::span<const Tensor> results, Site captured) {
  const auto is_kept = [&](const Tensor& x) {
    const auto is_it = [&](const Tensor& result) { return result.is_defined() && &result.impl() == &x.impl(); };
    return !x.impl().is_unique() && std::none_of(results.begin(), results.end(), is_it);
  };
  for (const Made& made : made_) {
    if (is_kept(made.tensor))
      refuse(made.op->name.c_str(), made.site, "its result is kept outside, where a replay would not renew it; return it");
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!is_own_[i] || !is_kept(inputs_[i])) continue;
    offenders_.push_back(
        {text("argument ", i + 1), captured, "it is kept outside, where a replay would not renew it; return it"});
  }
  for (const std::size_t i : shared_inputs_) {
    offenders_.push_back({text("argument ", i + 1), captured,
                          "behind a pointer, it is the same tensor as another argument, of which a replay knows nothing; pass "
                          "tensors, not pointers"});
  }
}

std::unique_ptr<Record> Recorder::finish(std::span<const Tensor> results, Site captured) {
  for (const Tensor& result : results) {
    RecordedResult& made = record_->results.emplace_back();
    if (!result.is_defined()) continue;
    const TensorImpl& tensor = result.impl();
    made = {slot_of(tensor), tensor.dtype(), tensor.shape(), tensor.strides(), tensor.offset()};
    made.offset -= start_of(made.slot) / static_cast<std::ptrdiff_t>(size_of(made.dtype));
  }
  look_for_kept(results, captured);
  offenders_.insert(offenders_.end(), offenders_elsewhere_.begin(),
                    offenders_elsewhere_.end());  // the others are no longer heard
  if (!offenders_.empty()) {
    std::string message = text("the function captured at ", captured.to_string(), " cannot be replayed; ", offenders_.size(),
                               offenders_.size() == 1 ? " thing stands in the way:" : " things stand in the way:");
    for (const Offender& each : offenders_) message += text("\n  ", each.op, " at ", each.site.to_string(), ": ", each.rule);
    throw CaptureRefused(message, captured);
  }
  made_.clear();
  for (const Slot& slot : record_->slots) {
    if (!slot.cell || slot.cell->number() < first_cell_ || slot.cell.use_count() == 1) continue;
    lasting_variable_ = slot.cell->storage().impl().buffer()->site();
    return nullptr;
  }
  return std::move(record_);
}

}  // namespace tutti::graph
