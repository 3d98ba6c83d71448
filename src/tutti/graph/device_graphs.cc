// The parts of a graph on devices that have graphs of their own.
#include <algorithm>
#include <map>

#include "tutti/exec/payload.h"
#include "tutti/graph/graph.h"
#include "tutti/hal/kernel_thread.h"

namespace tutti::graph {

namespace {

// A stream to record on, which nobody else has.
class RecordingStream {
 public:
  explicit RecordingStream(LogicalDevice& on) : on_(on), stream_(on.lend_stream({})) {}
  ~RecordingStream() { on_.take_back(stream_); }
  RecordingStream(const RecordingStream&) = delete;
  RecordingStream& operator=(const RecordingStream&) = delete;
  [[nodiscard]] DeviceStream& get() const noexcept { return stream_; }

 private:
  LogicalDevice& on_;
  DeviceStream& stream_;
};

class RecordingStreams {
 public:
  DeviceStream& on(LogicalDevice& device) {
    std::unique_ptr<RecordingStream>& stream = streams_[&device];
    if (!stream) stream = std::make_unique<RecordingStream>(device);
    return stream->get();
  }

 private:
  std::map<LogicalDevice*, std::unique_ptr<RecordingStream>> streams_;
};

StreamGraphs* graphs_of(const RecordedLaunch& launch) { return stream_graphs(launch.on->device().backend()); }

void issue(const KernelCall& call, Kernel kernel, LogicalDevice& on, DeviceStream& stream) {
  KernelContext context{on.device().parallel(), &stream};
  const InsideKernel inside;
  kernel(call, context);
}

std::uint64_t number_of(const std::byte* address) noexcept { return reinterpret_cast<std::uint64_t>(address); }
std::byte* address_of(std::uint64_t number) noexcept { return reinterpret_cast<std::byte*>(number); }

// At the addresses they were recorded with.
std::vector<Operand> operands_of(const Record& record, const RecordedLaunch& launch) {
  std::vector<Operand> out = launch.operands;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].is_immediate) out[i].data = const_cast<std::byte*>(launch.scalars[i].data());
  }
  for (const RecordedUse& use : launch.uses) out[use.operand].data = record.slots[use.slot].address + use.offset;
  return out;
}

// Where a kernel has several algorithms, it times them now.
void measure(const Record& record, const RecordedLaunch& launch, DeviceStream& stream) {
  const Prepare prepare =
      launch.op->prepares[static_cast<std::size_t>(stream.device().backend())].load(std::memory_order_acquire);
  if (prepare == nullptr || !is_fusion_on()) return;
  const std::vector<Operand> operands = operands_of(record, launch);
  KernelContext context{.parallel = launch.on->device().parallel(), .stream = &stream, .may_measure = true};
  try {
    prepare({launch.op, launch.site, launch.inputs, launch.outputs, operands.data(), &launch.attributes}, context);
  } catch (...) {
    // It keeps what it has; whatever is wrong is told when it runs.
  }
}

// One launch, at the addresses it was recorded with.
bool can_be_in_graph(const Record& record, const RecordedLaunch& launch, const std::vector<bool>& changes, DeviceStream& stream,
                     Site site) {
  std::vector<Operand> operands = operands_of(record, launch);
  std::vector<std::size_t> slots;
  std::vector<std::uint64_t> values;
  for (const RecordedUse& use : launch.uses) {
    if (!changes[use.slot] || std::find(slots.begin(), slots.end(), use.slot) != slots.end()) continue;
    slots.push_back(use.slot);
    values.push_back(number_of(record.slots[use.slot].address));
  }
  Attributes attributes = launch.attributes;
  const bool draws = launch.drawn != nowhere;
  if (draws) {
    const auto drawn = detail::read_as<Generator::Reserved>(attributes.data());
    values.push_back(drawn.key);
    values.push_back(drawn.counter);
  }
  KernelCall call{launch.op, launch.site, launch.inputs, launch.outputs, operands.data(), &attributes};
  const auto with = [&](std::size_t, std::span<const std::uint64_t> given) {
    for (const RecordedUse& use : launch.uses) {
      const auto found = std::find(slots.begin(), slots.end(), use.slot);
      if (found != slots.end())
        operands[use.operand].data = address_of(given[static_cast<std::size_t>(found - slots.begin())]) + use.offset;
    }
    if (draws) attributes.overwrite(0, Generator::Reserved{given[slots.size()], given[slots.size() + 1]});
    issue(call, launch.kernel, *launch.on, stream);
  };
  return graphs_of(launch)->can_make(stream, values, with, site);
}

}  // namespace

std::vector<bool> Graph::find_alone() const {
  std::vector<bool> out(record_->launches.size(), false);
  const std::vector<bool> changes = find_changing(*record_);
  RecordingStreams streams;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const RecordedLaunch& launch = record_->launches[i];
    if (launch.on->device().backend() != BackendKind::cuda) continue;
    measure(*record_, launch, streams.on(*launch.on));
    out[i] = graphs_of(launch) == nullptr || !can_be_in_graph(*record_, launch, changes, streams.on(*launch.on), captured_);
  }
  return out;
}

void Graph::make_device_graphs() {
  RecordingStreams streams;
  for (std::size_t number = 0; number < parts_.size(); ++number) {
    const Segment& segment = plan_.segments[number];
    StreamGraphs* const graphs = stream_graphs(segment.on->device().backend());
    if (graphs == nullptr || segment.stands_alone || segment.launches.size() < 2) continue;
    Part& part = *parts_[number];
    Flight usual;
    usual.bases.resize(record_->slots.size());
    usual.failures.resize(record_->slots.size());
    for (std::size_t slot = 0; slot < record_->slots.size(); ++slot) {
      if (changing_[slot] != nowhere) usual.bases[changing_[slot]] = record_->slots[slot].address;
    }
    for (const Patch& each : part.patches) {
      if (std::find(part.addresses.begin(), part.addresses.end(), each.changing) == part.addresses.end())
        part.addresses.push_back(each.changing);
    }
    usual.draws.resize(drawing_.size());
    for (const DrawPatch& each : part.draws)
      usual.draws[each.draw] = detail::read_as<Generator::Reserved>(each.attributes->data());
    for (const std::size_t each : part.addresses) part.made_with.push_back(number_of(usual.bases[each]));
    std::vector<std::uint64_t> values;
    (void)values_of(part, usual, values);
    DeviceStream& stream = streams.on(*segment.on);
    patch(part, usual);
    compile_groups(part, stream);
    const auto with = [&](std::size_t call, std::span<const std::uint64_t> given) {
      std::size_t next = 0;
      for (const std::size_t each : part.addresses) usual.bases[each] = address_of(given[next++]);
      for (const DrawPatch& each : part.draws) {
        usual.draws[each.draw] = {given[next], given[next + 1]};
        next += 2;
      }
      patch(part, usual);
      if (is_launched(part, call, stream)) return;
      issue(part.calls[call].call, part.calls[call].kernel, *segment.on, stream);
    };
    part.graph = graphs->make(stream, part.calls.size(), values, with, order_within(part), captured_);
    if (part.graph || part.compiled.empty()) continue;
    part.compiled.clear();
    for (Prepared& each : part.calls) each.compiled = 0;
    part.graph = graphs->make(stream, part.calls.size(), values, with, order_within(part), captured_);
  }
}

std::vector<std::vector<std::size_t>> Graph::order_within(const Part& part) const {
  constexpr std::size_t most_calls = 1024;
  struct Use {
    std::size_t memory;  // an arena, or behind these a slot of its own
    std::size_t begin;
    std::size_t end;
    bool is_write;
  };
  if (part.calls.size() > most_calls) return {};
  std::vector<std::vector<Use>> uses(part.calls.size());
  for (std::size_t i = 0; i < part.calls.size(); ++i) {
    const std::size_t kernel = part.calls[i].compiled;
    std::vector<Use>& mine = uses[kernel == 0 ? i : part.compiled[kernel - 1].first];
    for (const RecordedUse& use : record_->launches[part.calls[i].launch].uses) {
      const std::size_t arena = plan_.arena_of[use.slot];
      if (arena == nowhere) {
        mine.push_back({plan_.arenas.size() + use.slot, 0, 1, use.is_write});
      } else {
        const std::size_t begin = plan_.offset_of[use.slot];
        mine.push_back({arena, begin, begin + std::max<std::size_t>(1, record_->slots[use.slot].bytes), use.is_write});
      }
    }
  }
  const auto meet = [](const Use& a, const Use& b) {
    return a.memory == b.memory && a.begin < b.end && b.begin < a.end && (a.is_write || b.is_write);
  };
  std::vector<std::vector<std::size_t>> after(part.calls.size());
  std::vector<std::vector<bool>> is_after(part.calls.size(), std::vector<bool>(part.calls.size(), false));  // at any distance
  for (std::size_t call = 0; call < uses.size(); ++call) {
    for (std::size_t earlier = call; earlier-- > 0;) {
      if (is_after[call][earlier] || std::none_of(uses[call].begin(), uses[call].end(), [&](const Use& mine) {
            return std::any_of(uses[earlier].begin(), uses[earlier].end(), [&](const Use& its) { return meet(mine, its); });
          }))
        continue;
      after[call].push_back(earlier);
      is_after[call][earlier] = true;
      for (std::size_t i = 0; i < earlier; ++i) is_after[call][i] = is_after[call][i] || is_after[earlier][i];
    }
  }
  return after;
}

void Graph::compile_groups(Part& part, DeviceStream& stream) {
  FusedCompiler* const compiler = fused_compiler(stream.device().backend());
  if (compiler == nullptr) return;
  for (std::size_t i = 0; i < part.calls.size(); ++i) {
    if (part.calls[i].fused == 0) continue;
    std::vector<std::size_t> launches;
    for (std::size_t k = 0; k < part.groups[part.calls[i].fused - 1].size(); ++k) launches.push_back(part.calls[i + k].launch);
    const GroupProgram group = program_of(*record_, launches, operands_);
    if (group.program.stores.empty() && !group.program.closing) continue;
    std::unique_ptr<FusedKernel> kernel = compiler->make(stream, group.program, captured_);
    if (!kernel) continue;
    Compiled& made = part.compiled.emplace_back();
    made.kernel = std::move(kernel);
    made.first = i;
    for (const GroupProgram::Place& each : group.places) made.operands.push_back(&operands_[each.launch][each.operand]);
    for (std::size_t k = 0; k < launches.size(); ++k) part.calls[i + k].compiled = part.compiled.size();
  }
}

bool Graph::is_launched(Part& part, std::size_t call, DeviceStream& stream) {
  const std::size_t number = part.calls[call].compiled;
  if (number == 0) return false;
  Compiled& group = part.compiled[number - 1];
  if (group.first == call) {
    std::vector<std::byte*> addresses;
    for (const Operand* each : group.operands) addresses.push_back(each->data);
    group.runs = group.kernel->launch(stream, addresses);
  }
  return group.runs;
}

std::string Graph::source_at(std::size_t launch) const {
  for (const std::unique_ptr<Part>& part : parts_) {
    for (const Compiled& each : part->compiled) {
      if (part->calls[each.first].launch == launch) return each.kernel->source();
    }
  }
  return {};
}

bool Graph::is_one_by_one(std::size_t segment) const {
  const Segment& of = plan_.segments[segment];
  return stream_graphs(of.on->device().backend()) != nullptr && of.launches.size() > 1 && !parts_[segment]->graph;
}

bool Graph::values_of(const Part& part, const Flight& flight, std::vector<std::uint64_t>& values) {
  for (std::size_t i = 0; i < part.addresses.size(); ++i) {
    const std::uint64_t address = number_of(flight.bases[part.addresses[i]]);
    if ((address ^ part.made_with[i]) % memory_alignment != 0) return false;
    values.push_back(address);
  }
  for (const DrawPatch& each : part.draws) {
    values.push_back(flight.draws[each.draw].key);
    values.push_back(flight.draws[each.draw].counter);
  }
  return true;
}

}  // namespace tutti::graph
