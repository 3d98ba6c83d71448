#include "tutti/graph/graph.h"

#include <algorithm>
#include <utility>

#include "tutti/base/text.h"
#include "tutti/exec/payload.h"
#include "tutti/journal/journal.h"
#include "tutti/place/settings.h"
#include "tutti/tensor/view.h"

namespace tutti::graph {

Graph::Graph(std::unique_ptr<Record> record, Site captured) : record_(std::move(record)), captured_(captured) {
  const std::size_t before = record_->launches.size();
  leave_out_copies(*record_);
  plan_ = make_plan(*record_, find_alone());
  plan_.recorded_calls = before;
  for (Slot& slot : record_->slots) {
    if (slot.kind == Slot::Kind::value) slot.memory = {};
  }
  prepare();
  make_device_graphs();
}

Graph::~Graph() = default;

void Graph::prepare() {
  const std::size_t slots = record_->slots.size();
  for (const Arena& arena : plan_.arenas) arenas_.push_back(arena.memory->allocate(arena.bytes, arena.stream->id(), captured_));
  value_failures_ = std::make_unique<FailureCell[]>(slots);
  changing_.assign(slots, nowhere);
  variables_.resize(slots);
  made_by_.assign(slots, "");
  std::size_t changing = 0;
  for (std::size_t i = 0; i < slots; ++i) {
    if (record_->slots[i].kind == Slot::Kind::input) changing_[i] = changing++;
    if (record_->slots[i].cell) variables_[i] = record_->slots[i].cell->storage().impl().buffer();
  }
  for (std::size_t i = 0; i < slots; ++i) {
    if (!plan_.is_result[i]) continue;
    changing_[i] = changing++;
    result_slots_.push_back(i);
  }
  for (const RecordedLaunch& launch : record_->launches) {
    operands_.push_back(launch.operands);
    attributes_.push_back(launch.attributes);
    if (launch.draw.generator != nullptr) drawing_.push_back(operands_.size() - 1);
  }
  may_run_in_caller_ = record_->order.empty();
  for (const Segment& segment : plan_.segments) {
    Part& part = *parts_.emplace_back(std::make_unique<Part>());
    for (const std::size_t number : segment.launches) {
      RecordedLaunch& launch = record_->launches[number];
      std::vector<Operand>& operands = operands_[number];
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].is_immediate) operands[i].data = launch.scalars[i].data();
      }
      for (const RecordedUse& use : launch.uses) {
        Operand& operand = operands[use.operand];
        const Slot& slot = record_->slots[use.slot];
        if (changing_[use.slot] != nowhere) {
          part.patches.push_back({&operand, changing_[use.slot], use.offset});
        } else if (const std::size_t arena = plan_.arena_of[use.slot]; arena != nowhere) {
          operand.data = arenas_[arena]->kernel_address() + plan_.offset_of[use.slot] + use.offset;
          operand.failure = &value_failures_[use.slot];
        } else if (plan_.passes[use.slot]) {
          operand.failure = &value_failures_[use.slot];
        } else {
          Buffer& memory = slot.cell ? *variables_[use.slot] : *slot.memory;
          operand.data = memory.kernel_address() + use.offset;
          operand.failure = &memory.failure();
        }
        if (use.is_write) made_by_[use.slot] = {launch.op->name.c_str(), launch.function};
        if (!slot.cell) continue;
        const auto known = std::find_if(cells_.begin(), cells_.end(), [&](const CellUse& each) { return each.slot == use.slot; });
        if (known == cells_.end()) {
          cells_.push_back({use.slot, use.is_write});
        } else {
          known->is_written = known->is_written || use.is_write;
        }
      }
      if (launch.drawn != nowhere) part.draws.push_back({&attributes_[number], launch.drawn});
      Prepared& made = part.calls.emplace_back();
      made.call = {launch.op, launch.site, launch.inputs, launch.outputs, operands.data(), &attributes_[number], launch.function};
      made.kernel = launch.kernel;
      made.operand_count = operands.size();
      made.launch = number;
      made.device = launch.on->name();
      may_run_in_caller_ = may_run_in_caller_ && launch.on->device().runs_in_caller() && !launch.op->may_block;
    }
    prepare_groups(part);
  }
  // One order for all graphs.
  std::sort(cells_.begin(), cells_.end(), [this](const CellUse& a, const CellUse& b) {
    return record_->slots[a.slot].cell->number() < record_->slots[b.slot].cell->number();
  });
}

void Graph::prepare_groups(Part& part) {
  const auto group_at = [&](std::size_t call) { return plan_.group_of[part.calls[call].launch]; };
  for (std::size_t i = 0, end = 0; i < part.calls.size(); i = end) {
    std::vector<std::size_t> launches;
    std::vector<const KernelCall*> calls;
    for (end = i; end < part.calls.size() && group_at(end) == group_at(i); ++end) {
      launches.push_back(part.calls[end].launch);
      calls.push_back(&part.calls[end].call);
    }
    if (launches.size() == 1) continue;
    part.groups.emplace_back(*record_, launches, std::move(calls), plan_.passes);
    part.calls[i].fused = part.groups.size();
  }
}

Buffer& Graph::memory_of(std::size_t slot, const Flight& flight) const {
  if (changing_[slot] != nowhere) return *flight.memory[changing_[slot]];
  return record_->slots[slot].cell ? *variables_[slot] : *record_->slots[slot].memory;
}

std::unique_ptr<Graph::Flight> Graph::take_flight() {
  const std::lock_guard lock(spare_mutex_);
  if (spare_.empty()) return std::make_unique<Flight>();
  std::unique_ptr<Flight> out = std::move(spare_.back());
  spare_.pop_back();
  out->memory.clear();
  out->bases.clear();
  out->failures.clear();
  out->draws.clear();
  out->launched.clear();
  out->is_graph.clear();
  return out;
}

void Graph::land(Flight* flight) noexcept {
  const std::shared_ptr<Graph> last = std::move(flight->graph);
  const std::lock_guard lock(spare_mutex_);
  spare_.emplace_back(flight);
}

std::vector<Tensor> Graph::replay(std::span<const Tensor* const> inputs) {
  const std::lock_guard one_at_a_time(mutex_);
  std::vector<std::unique_lock<std::mutex>> held;
  held.reserve(cells_.size());
  for (const CellUse& each : cells_) held.push_back(record_->slots[each.slot].cell->hold(each.is_written));
  std::unique_ptr<Flight> flight = take_flight();
  const auto add = [&](Buffer& memory, std::byte* base) {
    flight->memory.push_back(&memory);
    flight->bases.push_back(base);
    flight->failures.push_back(&memory.failure());
  };
  for (const Tensor* input : inputs) add(*input->impl().buffer(), input->impl().kernel_address());
  const bool in_caller = can_run_in_caller(*flight);
  std::vector<Ref<Buffer>> made;
  made.reserve(result_slots_.size());
  for (const std::size_t slot : result_slots_) {
    made.push_back(
        memory_for(record_->slots[slot])
            .allocate(record_->slots[slot].bytes, in_caller ? StreamId::none : plan_.stream_of[slot]->id(), captured_));
    add(*made.back(), made.back()->kernel_address());
  }
  TakenNumbers last;
  for (const std::size_t launch : drawing_) flight->draws.push_back(take(record_->launches[launch].draw, last));
  flight->number = replays_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (in_caller) {
    run_in_caller(*flight);
    land(flight.release());
  } else {
    submit(std::move(flight));
    if (objection_) std::rethrow_exception(std::exchange(objection_, nullptr));
  }
  return results(inputs, made);
}

std::vector<Tensor> Graph::results(std::span<const Tensor* const> inputs, const std::vector<Ref<Buffer>>& made) const {
  std::vector<Tensor> out;
  out.reserve(record_->results.size());
  for (const RecordedResult& each : record_->results) {
    if (each.slot == nowhere) {
      out.emplace_back();
      continue;
    }
    const Slot& slot = record_->slots[each.slot];
    if (slot.kind == Slot::Kind::input) {
      const Tensor& input = *inputs[slot.input];
      // An offset is in elements of what was given back, which may be of another dtype.
      const std::int64_t start = input.impl().offset() * static_cast<std::int64_t>(size_of(input.dtype())) /
                                 static_cast<std::int64_t>(size_of(each.dtype));
      out.emplace_back(Ref<TensorImpl>(
          FreeList<TensorImpl>::make(input.impl().buffer(), each.dtype, each.shape, each.strides, start + each.offset)));
      continue;
    }
    const Ref<Buffer>& memory =
        plan_.is_result[each.slot] ? made[changing_[each.slot] - inputs.size()] : record_->slots[each.slot].memory;
    out.emplace_back(Ref<TensorImpl>(FreeList<TensorImpl>::make(memory, each.dtype, each.shape, each.strides, each.offset)));
  }
  return out;
}

void Graph::patch(Part& part, const Flight& flight) noexcept {
  for (const Patch& each : part.patches) {
    each.operand->data = flight.bases[each.changing] + each.offset;
    each.operand->failure = flight.failures[each.changing];
  }
  for (const DrawPatch& each : part.draws) each.attributes->overwrite(0, flight.draws[each.draw]);
}

FailureRef Graph::with_number(const FailureRef& failure, const Flight& flight) const {
  return std::make_shared<const Failure>(
      failure->kind, text(failure->reason, ", in replay ", flight.number, " of the function captured at ", captured_.to_string()),
      failure->op, failure->device, failure->site);
}

}  // namespace tutti::graph
