#include "tutti/graph/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "tutti/graph/fusion.h"
#include "tutti/hal/stream_graph.h"

namespace tutti::graph {

namespace {

constexpr std::size_t most_apart = std::size_t{64} << 20U;
constexpr std::size_t fewest_launches = 4;  // less is not worth a submission of its own

// From the first launch that uses it to the last.
struct Lifetime {
  std::size_t slot;
  std::size_t first;
  std::size_t last;
  std::size_t bytes;  // rounded
};

// Largest first, each as low as those it meets in time allow.
std::size_t place(std::vector<Lifetime>& values, std::vector<std::size_t>& offset_of) {
  std::stable_sort(values.begin(), values.end(), [](const Lifetime& a, const Lifetime& b) { return a.bytes > b.bytes; });
  std::vector<const Lifetime*> placed;  // by offset
  std::size_t end = 0;
  for (const Lifetime& value : values) {
    std::size_t at = 0;
    for (const Lifetime* other : placed) {
      if (other->last < value.first || value.last < other->first) continue;
      if (at + value.bytes <= offset_of[other->slot]) break;
      at = std::max(at, offset_of[other->slot] + other->bytes);
    }
    offset_of[value.slot] = at;
    end = std::max(end, at + value.bytes);
    const auto behind =
        std::find_if(placed.begin(), placed.end(), [&](const Lifetime* each) { return offset_of[each->slot] > at; });
    placed.insert(behind, &value);
  }
  return end;
}

void plan_memory(const Record& record, Plan& plan) {
  struct Seen {
    std::size_t first = nowhere;
    std::size_t last = 0;
    DeviceStream* stream = nullptr;
    bool is_on_others = false;
  };
  std::vector<Seen> seen(record.slots.size());
  for (std::size_t i = 0; i < record.launches.size(); ++i) {
    const RecordedLaunch& launch = record.launches[i];
    for (const RecordedUse& use : launch.uses) {
      Seen& slot = seen[use.slot];
      if (slot.first == nowhere) slot = {i, i, launch.stream, false};
      slot.last = i;
      slot.is_on_others = slot.is_on_others || slot.stream != launch.stream;
    }
  }
  for (std::size_t i = 0; i < seen.size(); ++i) plan.stream_of[i] = seen[i].stream;
  std::map<std::pair<DeviceMemory*, DeviceStream*>, std::vector<Lifetime>> groups;
  for (std::size_t i = 0; i < record.slots.size(); ++i) {
    const Slot& slot = record.slots[i];
    if (slot.kind != Slot::Kind::value || plan.is_result[i] || seen[i].first == nowhere) continue;
    const std::size_t bytes = std::max<std::size_t>(1, (slot.bytes + memory_alignment - 1) / memory_alignment) * memory_alignment;
    plan.value_bytes += bytes;
    // Launches that are fused run at the same time, but for what passes between them alone: where a kernel is made of them, that
    // is in memory only where they run one by one.
    auto [first, last] = std::pair(seen[i].first, seen[i].last);
    const std::size_t group = plan.group_of[first];
    if (group != plan.group_of[last]) {
      first = group;
      while (last + 1 < plan.group_of.size() && plan.group_of[last + 1] == plan.group_of[last]) ++last;
    } else if (group + 1 < plan.group_of.size() && plan.group_of[group + 1] == group &&
               fused_compiler(record.launches[group].on->device().backend()) == nullptr) {
      plan.passes[i] = true;
      continue;
    }
    // What another stream reads is not used for anything else: only the order of its own stream is known here.
    const bool stays = seen[i].is_on_others;
    groups[{&memory_for(slot), seen[i].stream}].push_back({i, stays ? 0 : first, stays ? nowhere : last, bytes});
  }
  for (auto& [key, values] : groups) {
    // Where kernels of a stream may run beside each other, small values do not take each other's places: none then waits for
    // another's memory.
    std::size_t all = 0;
    for (const Lifetime& value : values) all += value.bytes;
    if (stream_graphs(key.second->device().backend()) != nullptr && all <= most_apart) {
      for (Lifetime& value : values) std::tie(value.first, value.last) = std::pair(std::size_t{0}, nowhere);
    }
    plan.arenas.push_back({key.first, key.second, place(values, plan.offset_of)});
    for (const Lifetime& value : values) plan.arena_of[value.slot] = plan.arenas.size() - 1;
  }
}

// By launch: another stream waits for what it did, and need not wait for what follows on its own.
std::vector<bool> find_awaited(const Record& record) {
  std::vector<bool> out(record.launches.size(), false);
  std::vector<std::size_t> written_by(record.slots.size(), nowhere);
  std::vector<std::vector<std::size_t>> read_by(record.slots.size());
  std::map<std::pair<DeviceStream*, DeviceStream*>, std::size_t> known;  // who waits for whom: until behind this launch
  for (std::size_t i = 0; i < record.launches.size(); ++i) {
    const RecordedLaunch& launch = record.launches[i];
    std::map<DeviceStream*, std::size_t> latest;
    const auto comes_after = [&](std::size_t earlier) {
      if (earlier == nowhere || record.launches[earlier].stream == launch.stream) return;
      std::size_t& last = latest[record.launches[earlier].stream];
      last = std::max(last, earlier);
    };
    for (const RecordedUse& use : launch.uses) {
      comes_after(written_by[use.slot]);
      if (!use.is_write) continue;
      for (const std::size_t reader : read_by[use.slot]) comes_after(reader);
    }
    for (const auto& [stream, earlier] : latest) {
      const auto [place, is_new] = known.try_emplace({launch.stream, stream}, earlier);
      if (!is_new && place->second >= earlier) continue;
      place->second = earlier;
      out[earlier] = true;
    }
    for (const RecordedUse& use : launch.uses) {
      if (use.is_write) {
        written_by[use.slot] = i;
        read_by[use.slot].clear();
      } else {
        read_by[use.slot].push_back(i);
      }
    }
  }
  return out;
}

// Cuts the launches into segments.
class Cutter {
 public:
  Cutter(const Record& record, const std::vector<bool>& stands_alone, Plan& plan)
      : record_(record),
        stands_alone_(stands_alone),
        plan_(plan),
        changes_(find_changing(record)),
        is_awaited_(find_awaited(record)),
        written_by_(record.slots.size(), nowhere),
        read_by_(record.slots.size()) {}

  void run() {
    std::size_t step = 0;
    for (std::size_t i = 0; i <= record_.launches.size(); ++i) {
      for (; step < record_.order.size() && record_.order[step].before == i; ++step) {
        open_.clear();
        plan_.actions.push_back({.order = record_.order[step]});
      }
      if (i < record_.launches.size()) add(i);
    }
  }

 private:
  void add(std::size_t number) {
    const RecordedLaunch& launch = record_.launches[number];
    std::vector<std::size_t> after;
    const auto comes_after = [&](std::size_t segment) {
      if (segment == nowhere || plan_.segments[segment].stream == launch.stream) return;
      if (std::find(after.begin(), after.end(), segment) == after.end()) after.push_back(segment);
    };
    for (const RecordedUse& use : launch.uses) {
      comes_after(written_by_[use.slot]);
      if (!use.is_write) continue;
      for (const std::size_t reader : read_by_[use.slot]) comes_after(reader);
    }
    for (const std::size_t segment : after) close(segment);
    auto found = open_.find(launch.stream);
    const bool fits = found != open_.end() && !stands_alone_[number] && !plan_.segments[found->second].stands_alone &&
                      !ends_here(found->second) && has_room(found->second, launch) &&
                      std::all_of(after.begin(), after.end(), [&](std::size_t each) {
                        const auto& known = plan_.segments[found->second].after;
                        return std::find(known.begin(), known.end(), each) != known.end();
                      });
    if (!fits) {
      plan_.segments.push_back({.stream = launch.stream, .on = launch.on, .after = std::move(after)});
      plan_.segments.back().stands_alone = stands_alone_[number];
      plan_.actions.push_back({.segment = plan_.segments.size() - 1});
      open_[launch.stream] = plan_.segments.size() - 1;
    }
    const std::size_t mine = open_[launch.stream];
    note(number, mine);
  }

  // So that a reduction of the first gradients, on a stream beside it, begins while a backward pass goes on.
  [[nodiscard]] bool ends_here(std::size_t segment) const {
    const std::vector<std::size_t>& launches = plan_.segments[segment].launches;
    return launches.size() >= fewest_launches && is_awaited_[launches.back()];
  }

  // A device's graph is given the addresses that change, and two numbers for each draw.
  bool has_room(std::size_t segment, const RecordedLaunch& launch) {
    if (stream_graphs(launch.on->device().backend()) == nullptr) return true;
    const auto& known = values_[segment];
    std::set<std::size_t> more;
    for (const RecordedUse& use : launch.uses) {
      if (changes_[use.slot] && !known.slots.contains(use.slot)) more.insert(use.slot);
    }
    const std::size_t draws = known.draws + (launch.drawn != nowhere ? 1 : 0);
    return known.slots.size() + more.size() + 2 * draws <= most_graph_values;
  }

  void close(std::size_t segment) {
    const auto found = open_.find(plan_.segments[segment].stream);
    if (found != open_.end() && found->second == segment) open_.erase(found);
  }

  void note(std::size_t number, std::size_t mine) {
    const RecordedLaunch& launch = record_.launches[number];
    Segment& segment = plan_.segments[mine];
    segment.launches.push_back(number);
    segment.traffic_bytes += launch.traffic_bytes;
    values_.resize(plan_.segments.size());
    if (launch.drawn != nowhere) ++values_[mine].draws;
    for (const RecordedUse& use : launch.uses) {
      if (changes_[use.slot]) values_[mine].slots.insert(use.slot);
      if (use.is_write) {
        written_by_[use.slot] = mine;
        read_by_[use.slot].clear();
      } else if (read_by_[use.slot].empty() || read_by_[use.slot].back() != mine) {
        read_by_[use.slot].push_back(mine);
      }
    }
  }

  const Record& record_;
  const std::vector<bool>& stands_alone_;
  Plan& plan_;
  const std::vector<bool> changes_;     // by slot
  const std::vector<bool> is_awaited_;  // by launch
  // By segment: what changes from replay to replay.
  struct Values {
    std::set<std::size_t> slots;
    std::size_t draws = 0;
  };
  std::vector<Values> values_;
  std::vector<std::size_t> written_by_;            // by slot: the segment
  std::vector<std::vector<std::size_t>> read_by_;  // since it was written
  std::map<DeviceStream*, std::size_t> open_;
};

// What the launches of a segment use, once it is known where values are.
void note_uses(const Record& record, const Plan& plan, Segment& segment) {
  for (const std::size_t launch : segment.launches) {
    for (const RecordedUse& use : record.launches[launch].uses) {
      if (plan.passes[use.slot]) continue;
      if (const std::size_t arena = plan.arena_of[use.slot]; arena != nowhere) {
        if (std::find(segment.arenas.begin(), segment.arenas.end(), arena) == segment.arenas.end())
          segment.arenas.push_back(arena);
        continue;
      }
      const auto known =
          std::find_if(segment.uses.begin(), segment.uses.end(), [&](const Segment::Use& each) { return each.slot == use.slot; });
      if (known != segment.uses.end()) {
        known->is_write = known->is_write || use.is_write;
      } else {
        segment.uses.push_back({use.slot, use.is_write});
      }
    }
  }
}

}  // namespace

std::vector<bool> find_changing(const Record& record) {
  std::vector<bool> out;
  for (const Slot& slot : record.slots) out.push_back(slot.kind == Slot::Kind::input);
  for (const RecordedResult& each : record.results) {
    if (each.slot != nowhere && record.slots[each.slot].kind == Slot::Kind::value) out[each.slot] = true;
  }
  return out;
}

DeviceMemory& memory_for(const Slot& slot) {
  Runtime& instance = runtime(Site{});
  if (slot.is_pinned) {
    for (LogicalDevice* each : instance.devices()) {
      if (each->staging() != nullptr) return *each->staging();
    }
  }
  return instance.of(*slot.device).memory();
}

Plan make_plan(const Record& record, const std::vector<bool>& stands_alone) {
  Plan plan;
  plan.arena_of.assign(record.slots.size(), nowhere);
  plan.offset_of.assign(record.slots.size(), 0);
  plan.is_result.assign(record.slots.size(), false);
  plan.passes.assign(record.slots.size(), false);
  plan.stream_of.assign(record.slots.size(), nullptr);
  for (const RecordedResult& each : record.results) {
    if (each.slot != nowhere && record.slots[each.slot].kind == Slot::Kind::value) plan.is_result[each.slot] = true;
  }
  Cutter(record, stands_alone, plan).run();
  std::vector<std::size_t> segment_of(record.launches.size());
  for (std::size_t i = 0; i < plan.segments.size(); ++i) {
    for (const std::size_t launch : plan.segments[i].launches) segment_of[launch] = i;
  }
  plan.group_of = find_groups(record, segment_of);
  plan_memory(record, plan);
  for (Segment& segment : plan.segments) note_uses(record, plan, segment);
  return plan;
}

}  // namespace tutti::graph
