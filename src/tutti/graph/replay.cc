#include <algorithm>
#include <cstring>

#include "tutti/base/text.h"
#include "tutti/exec/order.h"
#include "tutti/exec/order_calls.h"
#include "tutti/exec/payload.h"
#include "tutti/graph/graph.h"
#include "tutti/hal/access_observer.h"
#include "tutti/hal/door.h"
#include "tutti/hal/fault.h"
#include "tutti/hal/kernel_thread.h"
#include "tutti/journal/journal.h"

namespace tutti::graph {

namespace {

constexpr const char* work_name = "replay";

// The fault that is to hit this call, if one is set for a simulated GPU.
FailureRef fault_for(const KernelCall& call, const Device& device) {
  const FaultKind kind = call.op->is_copy ? FaultKind::copy : FaultKind::kernel;
  if (device.backend() != BackendKind::sim || !detail::take_fault(kind, call.op->name.c_str())) return nullptr;
  return std::make_shared<const Failure>(call.op->is_copy ? FailureKind::copy : FailureKind::kernel,
                                         call.op->is_copy ? "injected copy failure" : "injected kernel failure",
                                         function_of(call), device.name(), call.site);
}

}  // namespace

// One segment of a replay on a stream.
struct ReplayWork {
  Graph::Flight* flight;
  std::size_t segment;

  static ReplayWork from(const void* bytes) noexcept {
    ReplayWork out;
    std::memcpy(&out, bytes, sizeof out);
    return out;
  }
  [[nodiscard]] Graph::Part& part() const noexcept { return *flight->graph->parts_[segment]; }

  void end() const noexcept {
    if (flight->segments_left.fetch_sub(1, std::memory_order_acq_rel) == 1) flight->graph->land(flight);
  }

  FailureRef run(RunContext& context) const noexcept {
    FailureRef failure;
    {
      const std::lock_guard lock(part().mutex);
      KernelContext kernel{context.parallel, &context.stream};
      failure = flight->graph->run(segment, *flight, kernel, context.stream, context.point, context.fault);
    }
    end();
    return failure;
  }

  FailureRef issue(RunContext& context) const noexcept {
    const std::lock_guard lock(part().mutex);
    Graph::patch(part(), *flight);
    KernelContext kernel{context.parallel, &context.stream};
    FailureRef first;
    if (std::vector<std::uint64_t> values; part().graph && Graph::values_of(part(), *flight, values)) {
      try {
        flight->launched[segment] = part().graph->launch(context.stream, values, flight->graph->captured_);
        flight->is_graph[segment] = 1;
        return nullptr;
      } catch (...) {
        return failure_from(std::current_exception(), FailureKind::kernel, work_name, context.stream.device().name(),
                            flight->graph->captured_);
      }
    }
    for (std::size_t i = 0; i < part().calls.size(); ++i) {
      const Graph::Prepared& each = part().calls[i];
      if (Graph::is_launched(part(), i, context.stream)) continue;
      FailureRef failure = issue_call(each.call, each.kernel, kernel, each.device);
      if (failure && !first) first = std::move(failure);
    }
    return first;
  }

  FailureRef retire(const FailureRef& own) const noexcept {
    FailureRef report;
    {
      const std::lock_guard lock(part().mutex);
      Graph::patch(part(), *flight);
      const FailureRef numbered = own ? flight->graph->with_number(own, *flight) : nullptr;
      std::vector<StreamGraph::Complaint> complaints;
      if (flight->is_graph[segment] != 0) complaints = part().graph->finish(flight->launched[segment]);
      for (std::size_t i = 0; i < part().calls.size(); ++i) {
        const Graph::Prepared& each = part().calls[i];
        FailureRef mine = numbered;
        for (const StreamGraph::Complaint& complaint : complaints) {
          if (mine || complaint.call != i) continue;
          mine = flight->graph->with_number(std::make_shared<const Failure>(FailureKind::kernel, complaint.reason,
                                                                            function_of(each.call), each.device, each.call.site),
                                            *flight);
        }
        FailureRef failure = settle_call(each.call, each.operand_count, mine);
        if (failure && !report) report = std::move(failure);
      }
    }
    end();
    return report;
  }

  void abandon(const FailureRef& why) const noexcept {
    {
      const std::lock_guard lock(part().mutex);
      Graph::patch(part(), *flight);
      for (const Graph::Prepared& each : part().calls) abandon_call(each.call, each.operand_count, why);
    }
    end();
  }
};

namespace {

constexpr WorkKind replay_kind{
    [](const void* source, void* payload, bool) { std::memcpy(payload, source, sizeof(ReplayWork)); },
    [](void* payload, RunContext& context) noexcept { return ReplayWork::from(payload).run(context); },
    [](void* payload, const FailureRef& why) noexcept { ReplayWork::from(payload).abandon(why); },
    [](const void* source, RunContext& context) noexcept { return ReplayWork::from(source).issue(context); },
    [](void* payload, RunContext& context) noexcept { return ReplayWork::from(payload).issue(context); },
    [](void* payload, const FailureRef& own) noexcept { return ReplayWork::from(payload).retire(own); },
};

}  // namespace

template <class FaultOf, class Tell>
void Graph::run_group(const Part& part, std::size_t first, KernelContext& context, const FaultOf& fault_of, const Tell& tell) {
  const TiledGroup& group = part.groups[part.calls[first].fused - 1];
  std::vector<bool> left_out(group.size(), false);
  for (std::size_t i = 0; i < group.size(); ++i) {
    const Prepared& each = part.calls[first + i];
    if (const FailureRef failure = settle_call(each.call, each.operand_count, fault_of(first + i))) tell(each, failure);
    left_out[i] = each.call.out().failure->is_set();
  }
  try {
    const InsideKernel inside;
    group.run(left_out, context.parallel);
  } catch (...) {
    const Prepared& blamed = part.calls[first];
    const FailureRef failure =
        failure_from(std::current_exception(), FailureKind::kernel, function_of(blamed.call), blamed.device, blamed.call.site);
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (!left_out[i]) tell(part.calls[first + i], failure);
    }
  }
}

FailureRef Graph::run(std::size_t segment, const Flight& flight, KernelContext& context, DeviceStream& stream,
                      TimelinePoint point, const FailureRef& fault) {
  Part& part = *parts_[segment];
  patch(part, flight);
  const bool traced = journal::is_recording();
  const bool is_in_caller = context.stream == nullptr;
  FailureRef first;
  const auto fault_of = [&](std::size_t number) -> FailureRef {
    const KernelCall& call = part.calls[number].call;
    if (number != 0 || !fault) return fault_for(call, stream.device());
    return std::make_shared<const Failure>(fault->kind, fault->reason, function_of(call), fault->device, call.site);
  };
  const auto tell = [&](const Prepared& each, const FailureRef& own) {
    FailureRef failure = with_number(own, flight);
    for (std::size_t k = each.call.inputs; k < each.operand_count; ++k) each.call.operands[k].failure->set(failure);
    if (first) {
      stream.report(std::move(failure), point);
    } else {
      first = std::move(failure);
    }
  };
  for (std::size_t i = 0, end = 0; i < part.calls.size(); i = end) {
    const Prepared& each = part.calls[i];
    const Nanoseconds begin = traced ? now() : 0;
    if (each.fused != 0) {
      end = i + part.groups[each.fused - 1].size();
      run_group(part, i, context, fault_of, tell);
    } else {
      end = i + 1;
      const FailureRef failure = run_call(each.call, each.operand_count, each.kernel, context, each.device, fault_of(i));
      if (failure) [[unlikely]]
        tell(each, failure);
    }
    if (traced) [[unlikely]]
      journal::record({.kind = journal::EventKind::run,
                       .stream = is_in_caller ? StreamId::none : point.stream,
                       .name = each.fused != 0 ? "fused" : each.call.op->name.c_str(),
                       .site = each.call.site,
                       .begin = begin,
                       .end = now(),
                       .value = is_in_caller ? 0 : point.value});
  }
  return first;
}

bool Graph::can_run_in_caller(const Flight& flight) const {
  if (!may_run_in_caller_ || !detail::thread_state.settings.synchronous) return false;
  for (const Ref<Buffer>& arena : arenas_) {
    if (!arena->is_idle()) return false;
  }
  for (const Segment& segment : plan_.segments) {
    for (const Segment::Use& use : segment.uses) {
      if (plan_.is_result[use.slot]) continue;
      const Buffer& memory = memory_of(use.slot, flight);
      if (use.is_write ? !memory.is_idle() : !memory.is_ready()) return false;
    }
  }
  return true;
}

void Graph::tell_of_use(const Segment& segment, const Flight& flight, std::vector<MemoryUse>& uses) const {
  const auto add = [&](const Buffer& memory, bool is_write) {
    uses.push_back({.begin = memory.address(),
                    .bytes = memory.bytes(),
                    .run = memory.bytes(),
                    .is_write = is_write,
                    .allocation = memory.address(),
                    .allocated_bytes = memory.bytes(),
                    .allocated = memory.site()});
  };
  for (const Segment::Use& use : segment.uses) add(memory_of(use.slot, flight), use.is_write);
  for (const std::size_t arena : segment.arenas) {
    if (plan_.arenas[arena].stream == segment.stream) add(*arenas_[arena], true);
  }
}

void Graph::run_in_caller(Flight& flight) {
  for (const Segment& segment : plan_.segments) {
    const auto number = static_cast<std::size_t>(&segment - plan_.segments.data());
    DeviceStream& stream = *segment.stream;
    const TimelinePoint last = stream.last();
    if (AccessObserver* observer = access_observer()) [[unlikely]] {
      std::vector<MemoryUse> uses;
      tell_of_use(segment, flight, uses);
      observer->before_run(
          {.op = work_name, .site = captured_, .device = &stream.device(), .point = {last.stream, last.value + 1}, .uses = uses});
    }
    stream.device().idle().end();
    KernelContext context{stream.device().parallel(), nullptr};
    {
      const std::lock_guard lock(parts_[number]->mutex);
      if (FailureRef failure = run(number, flight, context, stream, last, nullptr)) [[unlikely]]
        stream.report(std::move(failure), last);
    }
    for (const Segment::Use& use : segment.uses) {
      if (use.is_write) memory_of(use.slot, flight).note_write({}, made_by_[use.slot]);
    }
  }
}

void Graph::submit(std::unique_ptr<Flight> owned) {
  Flight& flight = *owned;
  flight.segments_left.store(plan_.segments.size(), std::memory_order_relaxed);
  flight.graph = shared_from_this();
  flight.launched.assign(plan_.segments.size(), nullptr);
  flight.is_graph.assign(plan_.segments.size(), 0);
  if (!plan_.segments.empty()) (void)owned.release();  // the last segment lets it go
  std::vector<TimelinePoint> points(plan_.segments.size());
  std::vector<TimelinePoint> events(record_->events.size());
  struct Wait {
    DeviceStream* stream;
    TimelinePoint point;
    bool is_kept = false;  // by a segment behind it
  };
  std::vector<Wait> waits;
  // Those of a stream for which no segment comes: what is asked of the stream now, or comes there later, is behind them.
  const auto submit_waits = [&](const DeviceStream& stream) {
    for (Wait& wait : waits) {
      if (wait.stream != &stream || std::exchange(wait.is_kept, true)) continue;
      const auto is_it = [&](const Stream& each) { return &each.base() == wait.stream; };
      const auto on = std::find_if(record_->streams.begin(), record_->streams.end(), is_it);
      if (on != record_->streams.end()) WaitData(*on, wait.point).run(captured_);
    }
  };
  std::vector<Points> before(arenas_.size());  // what earlier replays still do there
  for (std::size_t i = 0; i < arenas_.size(); ++i) arenas_[i]->before_write(StreamId::none, before[i]);
  for (const Action& action : plan_.actions) {
    const OrderStep& step = action.order;
    if (action.segment == nowhere) {
      switch (step.kind) {
        case OrderStep::Kind::record:
          submit_waits(*step.stream);
          events[step.event] = step.stream->last();
          if (const auto cell = record_->events[step.event].lock()) cell->set({events[step.event], nullptr});
          break;
        case OrderStep::Kind::wait_event: waits.push_back({step.stream, events[step.event]}); break;
        case OrderStep::Kind::wait_stream:
          submit_waits(*step.other);
          waits.push_back({step.stream, step.other->last()});
          break;
      }
      continue;
    }
    const Segment& segment = plan_.segments[action.segment];
    Points after;
    for (const std::size_t each : segment.after) after.push_back(points[each]);
    for (const std::size_t arena : segment.arenas) {
      for (const TimelinePoint point : before[arena]) after.push_back(point);
    }
    for (Wait& wait : waits) {
      if (wait.stream != segment.stream) continue;
      wait.is_kept = true;
      if (wait.point.stream != StreamId::none) after.push_back(wait.point);
    }
    points[action.segment] = submit_segment(action.segment, flight, after);
  }
  for (std::size_t i = 0; i < arenas_.size(); ++i) {
    const auto touches = [&](const Segment& segment) {
      return std::find(segment.arenas.begin(), segment.arenas.end(), i) != segment.arenas.end();
    };
    for (std::size_t k = 0; k < plan_.segments.size(); ++k) {
      if (touches(plan_.segments[k]) && plan_.segments[k].stream == plan_.arenas[i].stream) arenas_[i]->note_write(points[k], "");
    }
    for (std::size_t k = 0; k < plan_.segments.size(); ++k) {
      if (touches(plan_.segments[k]) && plan_.segments[k].stream != plan_.arenas[i].stream) arenas_[i]->note_read(points[k]);
    }
  }
  for (const Wait& wait : waits) submit_waits(*wait.stream);
  if (plan_.segments.empty()) land(owned.release());
}

TimelinePoint Graph::submit_segment(std::size_t number, Flight& flight, Points after) {
  const Segment& segment = plan_.segments[number];
  DeviceStream& stream = *segment.stream;
  stream.prepare(captured_);
  const ReplayWork source{&flight, number};
  const Work work{
      .kind = &replay_kind, .name = work_name, .site = captured_, .source = &source, .traffic_bytes = segment.traffic_bytes};
  const bool traced = journal::is_recording();
  const Nanoseconds begin = traced ? now() : 0;
  AccessObserver* const observer = access_observer();
  bool has_more_to_say = false;
  std::exception_ptr objection;
  TimelinePoint point;
  for (;;) {
    std::unique_lock lock(stream.order());
    const TimelinePoint full = stream.full_until(segment.traffic_bytes);
    if (full.stream != StreamId::none) [[unlikely]] {
      lock.unlock();
      await(full, {.reason = SyncReason::back_pressure, .site = captured_});
      continue;
    }
    for (const Segment::Use& use : segment.uses) {
      const Buffer& memory = memory_of(use.slot, flight);
      use.is_write ? memory.before_write(stream.id(), after) : memory.before_read(stream.id(), after);
    }
    derive_edges(stream, after, captured_);
    if (observer != nullptr) [[unlikely]] {
      std::vector<MemoryUse> uses;
      tell_of_use(segment, flight, uses);
      try {
        has_more_to_say = observer->before_submit({.op = work_name,
                                                   .site = captured_,
                                                   .device = &stream.device(),
                                                   .point = {stream.id(), stream.last().value + 1},
                                                   .uses = uses,
                                                   .after = after.view()});
      } catch (...) {
        objection = std::current_exception();  // told when the whole replay is under way: half of one is of no use
      }
    }
    stream.device().idle().end();
    point = stream.submit(work, after.view());
    for (const Segment::Use& use : segment.uses) {
      Buffer& memory = memory_of(use.slot, flight);
      use.is_write ? memory.note_write(point, made_by_[use.slot]) : memory.note_read(point);
    }
    break;
  }
  stream.kick();
  if (has_more_to_say) [[unlikely]]
    observer->speak();
  if (traced) [[unlikely]] {
    journal::record({.kind = journal::EventKind::enqueue,
                     .name = work_name,
                     .site = captured_,
                     .begin = begin,
                     .end = now(),
                     .value = point.value,
                     .target = point.stream});
  }
  if (objection && !objection_) objection_ = objection;
  return point;
}

}  // namespace tutti::graph
