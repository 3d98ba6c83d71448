#include "tutti/graph/fusion.h"

#include <algorithm>

#include "tutti/base/environment.h"
#include "tutti/exec/reduction_attributes.h"

namespace tutti::graph {

namespace {

constexpr std::int64_t fewest_elements = 32768;  // below, all of it stays in the first caches anyway
constexpr std::size_t most_together = 32;
constexpr std::int64_t longest_row = 4096;  // a tile holds whole rows where they are reduced

bool is_flat(const Operand& operand, std::int64_t count) {
  return operand.is_immediate || operand.is_single() || (operand.count() == count && operand.is_dense());
}
// Tile by tile: of dtypes with which it never fails, as divisions of integers may.
bool is_tileable(const RecordedLaunch& launch) {
  const bool never_fails = launch.op->name == "Cast" || launch.op->name == "SelectV2";
  return !launch.op->has_users_kernels && launch.operands.back().count() >= fewest_elements &&
         std::all_of(launch.operands.begin(), launch.operands.end(),
                     [&](const Operand& each) { return never_fails || is_floating(each.dtype) || each.dtype == DType::boolean; });
}

bool is_fusable(const RecordedLaunch& launch) {
  if (!launch.op->is_elementwise || launch.outputs != 1 || launch.operands.size() != launch.inputs + std::size_t{1} ||
      launch.drawn != nowhere)
    return false;
  const BackendKind backend = launch.on->device().backend();
  if (const FusedCompiler* compiler = fused_compiler(backend)) return compiler->takes(launch.op->name, launch.operands);
  return backend != BackendKind::cuda && is_tileable(launch);
}

bool have_same_sizes(const Operand& a, const Operand& b) {
  if (a.rank != b.rank) return false;
  for (std::size_t i = 0; i < a.rank; ++i) {
    if (a.axes[i].size != b.axes[i].size) return false;
  }
  return true;
}

// Do all of them walk the same elements, one by one or axis by axis?
bool walk_together(const Record& record, std::size_t first, std::size_t last) {
  const RecordedLaunch& one = record.launches[first];
  const RecordedLaunch& other = record.launches[last];
  if (one.operands.back().count() != other.operands.back().count()) return false;
  bool all_flat = true;
  bool all_alike = true;
  for (std::size_t i = first; i <= last; ++i) {
    all_flat = all_flat && is_flat(record.launches[i]);
    all_alike = all_alike && have_same_sizes(one.operands.back(), record.launches[i].operands.back());
  }
  return all_flat || all_alike;
}

bool lie_alike(const Operand& a, const Operand& b) {
  if (a.dtype != b.dtype || a.is_immediate || b.is_immediate) return false;
  if (a.count() == b.count() && a.is_dense() && b.is_dense()) return true;
  if (!have_same_sizes(a, b)) return false;
  for (std::size_t i = 0; i < a.rank; ++i) {
    if (a.axes[i].size != 1 && a.axes[i].stride != b.axes[i].stride) return false;
  }
  return true;
}

// Whether memory that one of them writes is met at the same place by all: then element after element is as good as launch after
// launch.
bool go_together(const Record& record, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i <= last; ++i) {
    for (const RecordedUse& written : record.launches[i].uses) {
      if (!written.is_write) continue;
      for (std::size_t k = first; k <= last; ++k) {
        const RecordedLaunch& other = record.launches[k];
        for (const RecordedUse& use : other.uses) {
          if (use.slot != written.slot) continue;
          if (use.offset != written.offset ||
              !lie_alike(other.operands[use.operand], record.launches[i].operands[written.operand]))
            return false;
        }
      }
    }
  }
  return true;
}

// Could the group that ends before this launch end with it? What it reduces is made there.
bool closes(const Record& record, std::size_t first, std::size_t number) {
  const RecordedLaunch& launch = record.launches[number];
  const RecordedLaunch& before = record.launches[number - 1];
  if (!reduces_rows(launch) || !is_fusable(before)) return false;
  const Operand& in = launch.operands[0];
  const FusedCompiler* const compiler = fused_compiler(launch.on->device().backend());
  if (compiler != nullptr && in.axes[in.rank - 1U].size > compiler->longest_row(in.dtype)) return false;
  const Operand& made = before.operands.back();
  bool all_flat = in.count() == made.count();
  for (std::size_t i = first; i < number; ++i) all_flat = all_flat && is_flat(record.launches[i]);
  const auto makes_it = [&](const RecordedLaunch& each) { return each.uses_slot(launch.uses[0].slot, true); };
  return (all_flat || have_same_sizes(in, made)) &&
         std::any_of(record.launches.begin() + static_cast<std::ptrdiff_t>(first),
                     record.launches.begin() + static_cast<std::ptrdiff_t>(number), makes_it) &&
         go_together(record, first, number);
}

}  // namespace

bool reduces_rows(const RecordedLaunch& launch) {
  const std::string& op = launch.op->name;
  if ((op != "Sum" && op != "Mean" && op != "Max" && op != "Min") || launch.operands.size() != 2 || launch.uses.size() != 2)
    return false;
  const Operand& in = launch.operands[0];
  const Operand& out = launch.operands[1];
  return in.rank > 1 && launch.attributes.as<ReductionAttributes>().axes == 1U << (in.rank - 1U) && in.is_dense() &&
         out.is_dense() && is_floating(in.dtype) && in.dtype == out.dtype && in.count() > 0 &&
         in.axes[in.rank - 1U].size <= longest_row;
}

bool is_flat(const RecordedLaunch& launch) {
  const std::int64_t count = launch.operands.back().count();
  return std::all_of(launch.operands.begin(), launch.operands.end(), [&](const Operand& each) { return is_flat(each, count); });
}

bool is_fusion_on() {
  static const bool answer = environment_bool("TUTTI_FUSION").value_or(true);
  return answer;
}

std::vector<std::size_t> find_groups(const Record& record, const std::vector<std::size_t>& segment_of) {
  std::vector<std::size_t> out(record.launches.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = i;
    if (i == 0 || !is_fusion_on()) continue;
    const RecordedLaunch& launch = record.launches[i];
    const RecordedLaunch& before = record.launches[i - 1];
    if (i - out[i - 1] >= most_together || segment_of[i] != segment_of[i - 1] || launch.on != before.on) continue;
    const std::size_t first = out[i - 1];
    if ((is_fusable(launch) && is_fusable(before) && walk_together(record, first, i) && go_together(record, first, i)) ||
        closes(record, first, i))
      out[i] = first;
  }
  return out;
}

std::vector<std::vector<std::size_t>> find_passing(const Record& record, std::span<const std::size_t> group) {
  std::vector<std::vector<std::size_t>> out;
  std::vector<std::size_t> slots;
  const auto is_in_group = [&](std::size_t launch) { return std::find(group.begin(), group.end(), launch) != group.end(); };
  const auto passes = [&](std::size_t slot) {
    if (record.slots[slot].kind != Slot::Kind::value) return false;
    for (const RecordedResult& each : record.results) {
      if (each.slot == slot) return false;
    }
    for (std::size_t i = 0; i < record.launches.size(); ++i) {
      if (!is_in_group(i) && (record.launches[i].uses_slot(slot, false) || record.launches[i].uses_slot(slot, true)))
        return false;
    }
    return true;
  };
  // A number is free again behind the launch that uses its value last.
  for (std::size_t i = 0; i < group.size(); ++i) {
    const RecordedLaunch& launch = record.launches[group[i]];
    std::vector<std::size_t>& passing = out.emplace_back(launch.operands.size(), nowhere);
    for (const RecordedUse& use : launch.uses) {
      if (!passes(use.slot)) continue;
      auto place = std::find(slots.begin(), slots.end(), use.slot);
      if (place == slots.end()) place = std::find(slots.begin(), slots.end(), nowhere);
      if (place == slots.end()) place = slots.insert(slots.end(), nowhere);
      *place = use.slot;
      passing[use.operand] = static_cast<std::size_t>(place - slots.begin());
    }
    for (std::size_t& slot : slots) {
      const auto is_used = [&](std::size_t later) {
        return record.launches[later].uses_slot(slot, false) || record.launches[later].uses_slot(slot, true);
      };
      if (slot != nowhere && std::none_of(group.begin() + static_cast<std::ptrdiff_t>(i) + 1, group.end(), is_used))
        slot = nowhere;
    }
  }
  return out;
}

GroupProgram program_of(const Record& record, std::span<const std::size_t> group,
                        const std::vector<std::vector<Operand>>& operands) {
  GroupProgram out;
  FusedProgram& program = out.program;
  const bool is_closed = reduces_rows(record.launches[group.back()]);
  const std::span<const std::size_t> elementwise = group.first(group.size() - (is_closed ? 1 : 0));
  const bool flat =
      std::all_of(elementwise.begin(), elementwise.end(), [&](std::size_t each) { return is_flat(record.launches[each]); });
  const std::int64_t count = record.launches[group.front()].operands.back().count();
  const auto seen = [&](const GroupProgram::Place& place) {
    Operand operand = operands[place.launch][place.operand];
    if (!flat || operand.is_immediate) return operand;
    const bool is_one = operand.is_single() && count > 1;
    operand.rank = 1;
    operand.axes[0] = {count, is_one ? 0 : 1};
    return operand;
  };
  // Steps are numbered from here on until all inputs are known.
  constexpr std::size_t steps_from = std::size_t{1} << 32U;
  struct Known {
    std::size_t slot;
    std::ptrdiff_t offset;
    std::size_t value;
    GroupProgram::Place place;
  };
  std::vector<Known> read;
  std::vector<Known> written;
  const std::vector<std::vector<std::size_t>> passing = find_passing(record, group);
  for (std::size_t i = 0; i < elementwise.size(); ++i) {
    const RecordedLaunch& launch = record.launches[group[i]];
    FusedProgram::Step step{.op = launch.op->name, .from = {}, .dtype = launch.operands.back().dtype};
    std::vector<const RecordedUse*> use_of(launch.operands.size(), nullptr);
    for (const RecordedUse& use : launch.uses) use_of[use.operand] = &use;
    for (std::size_t k = 0; k < launch.inputs; ++k) {
      const GroupProgram::Place place{group[i], k};
      const RecordedUse* const use = use_of[k];
      if (use != nullptr) {
        const auto made = std::find_if(written.begin(), written.end(), [&](const Known& each) { return each.slot == use->slot; });
        const auto loaded = std::find_if(read.begin(), read.end(), [&](const Known& each) {
          return each.slot == use->slot && each.offset == use->offset &&
                 lie_alike(operands[each.place.launch][each.place.operand], operands[place.launch][place.operand]);
        });
        if (made != written.end() || loaded != read.end()) {
          step.from.push_back(made != written.end() ? made->value : loaded->value);
          continue;
        }
        read.push_back({use->slot, use->offset, program.inputs.size(), place});
      }
      step.from.push_back(program.inputs.size());
      program.inputs.push_back(seen(place));
      out.places.push_back(place);
    }
    const GroupProgram::Place place{group[i], launch.inputs};
    const std::size_t slot = use_of[launch.inputs]->slot;
    const Known made{slot, 0, steps_from + program.steps.size(), place};
    program.steps.push_back(std::move(step));
    const auto known = std::find_if(written.begin(), written.end(), [&](const Known& each) { return each.slot == slot; });
    if (known != written.end()) {
      *known = made;
    } else {
      written.push_back(made);
    }
  }
  const auto renumber = [&](std::size_t value) {
    return value < steps_from ? value : value - steps_from + program.inputs.size();
  };
  for (FusedProgram::Step& step : program.steps) std::transform(step.from.begin(), step.from.end(), step.from.begin(), renumber);
  for (const Known& each : written) {
    const auto launch = static_cast<std::size_t>(std::find(group.begin(), group.end(), each.place.launch) - group.begin());
    if (passing[launch][each.place.operand] != nowhere) continue;
    program.stores.push_back({renumber(each.value), seen(each.place)});
    out.places.push_back(each.place);
  }
  if (is_closed) {
    const RecordedLaunch& launch = record.launches[group.back()];
    const auto made =
        std::find_if(written.begin(), written.end(), [&](const Known& each) { return launch.uses_slot(each.slot, false); });
    const GroupProgram::Place to{group.back(), 1};
    const Operand& in = launch.operands[0];
    program.closing = {launch.op->name, renumber(made->value), in.axes[in.rank - 1U].size, seen({group.back(), 0}),
                       operands[to.launch][to.operand]};
    out.places.push_back(to);
  }
  return out;
}

}  // namespace tutti::graph
