#include <algorithm>

#include "tutti/graph/plan.h"

namespace tutti::graph {

namespace {

class Editor {
 public:
  explicit Editor(Record& record) : record_(record), is_dead_(record.launches.size(), false) {
    is_result_.resize(record.slots.size(), false);
    for (const RecordedResult& each : record.results) {
      if (each.slot != nowhere) is_result_[each.slot] = true;
    }
    writers_.resize(record.slots.size());
    for (std::size_t i = 0; i < record.launches.size(); ++i) {
      for (const RecordedUse& use : record.launches[i].uses) {
        if (use.is_write) writers_[use.slot].push_back(i);
      }
    }
  }

  void keep_constants() {
    for (std::size_t i = 0; i < record_.launches.size(); ++i) {
      const RecordedLaunch& launch = record_.launches[i];
      if (!launch.op->is_copy) continue;
      const bool is_fixed = std::all_of(launch.uses.begin(), launch.uses.end(), [&](const RecordedUse& use) {
        const Slot& slot = record_.slots[use.slot];
        if (!use.is_write) return slot.kind == Slot::Kind::constant;
        return slot.kind == Slot::Kind::value && writers_[use.slot].size() == 1;
      });
      if (!is_fixed) continue;
      for (const RecordedUse& use : launch.uses) record_.slots[use.slot].kind = Slot::Kind::constant;
      is_dead_[i] = true;
    }
  }

  // Whoever reads the copy reads the original, if that stays as it is meanwhile.
  void read_originals() {
    for (std::size_t i = 0; i < record_.launches.size(); ++i) {
      if (is_dead_[i] || !is_plain_copy(record_.launches[i])) continue;
      const RecordedUse from = record_.launches[i].uses[0];
      const RecordedUse to = record_.launches[i].uses[1];
      if (record_.slots[to.slot].kind != Slot::Kind::value || is_result_[to.slot] || writers_[to.slot].size() != 1) continue;
      if (is_written(from.slot, i + 1, last_use(to.slot) + 1)) continue;
      rename(to.slot, from.slot, from.offset - to.offset, i);
    }
  }

  // What is copied into a variable is written there at once.
  void write_in_place() {
    for (std::size_t i = 0; i < record_.launches.size(); ++i) {
      if (is_dead_[i] || !is_plain_copy(record_.launches[i])) continue;
      const RecordedUse from = record_.launches[i].uses[0];
      const RecordedUse to = record_.launches[i].uses[1];
      const Slot& value = record_.slots[from.slot];
      const Slot& variable = record_.slots[to.slot];
      if (variable.kind != Slot::Kind::variable || value.kind != Slot::Kind::value || is_result_[from.slot]) continue;
      if (from.offset != 0 || to.offset != 0 || value.bytes != variable.bytes || writers_[from.slot].size() != 1) continue;
      const std::size_t by = writers_[from.slot].front();
      if (by >= i || record_.launches[by].stream != record_.launches[i].stream) continue;
      if (!can_write(record_.launches[by], from.slot, to.slot) || is_used(to.slot, by + 1, i)) continue;
      if (is_written(to.slot, i + 1, last_use(from.slot) + 1)) continue;
      std::replace(writers_[to.slot].begin(), writers_[to.slot].end(), i, by);
      rename(from.slot, to.slot, 0, i);
    }
  }

  void finish() {
    std::vector<std::size_t> place(record_.launches.size() + 1, 0);
    std::vector<RecordedLaunch> kept;
    for (std::size_t i = 0; i < record_.launches.size(); ++i) {
      place[i] = kept.size();
      if (!is_dead_[i]) kept.push_back(std::move(record_.launches[i]));
    }
    place.back() = kept.size();
    for (OrderStep& step : record_.order) step.before = place[step.before];
    record_.launches = std::move(kept);
  }

 private:
  // All of one piece of memory into another on the same device, element by element in row order.
  [[nodiscard]] bool is_plain_copy(const RecordedLaunch& launch) const {
    if (launch.op->kind != OpKind::copy || launch.uses.size() != 2 || launch.inputs != 1 || launch.outputs != 1) return false;
    const Operand& from = launch.operands[0];
    const Operand& to = launch.operands[1];
    const Slot& source = record_.slots[launch.uses[0].slot];
    const Slot& target = record_.slots[launch.uses[1].slot];
    return source.device == target.device && source.is_pinned == target.is_pinned && launch.uses[0].slot != launch.uses[1].slot &&
           from.dtype == to.dtype && from.count() == to.count() && from.is_dense() && to.is_dense();
  }

  // Could it write the variable instead? It may read the variable too, where it reads each element before it writes that one.
  static bool can_write(const RecordedLaunch& launch, std::size_t value, std::size_t variable) {
    const Operand* out = nullptr;
    for (const RecordedUse& use : launch.uses) {
      if (use.slot != value) continue;
      if (!use.is_write || use.offset != 0 || !launch.operands[use.operand].is_dense()) return false;
      out = &launch.operands[use.operand];
    }
    if (out == nullptr) return false;
    return std::all_of(launch.uses.begin(), launch.uses.end(), [&](const RecordedUse& use) {
      if (use.slot != variable) return true;
      const Operand& operand = launch.operands[use.operand];
      return !use.is_write && use.offset == 0 && launch.op->is_elementwise && launch.outputs == 1 &&
             launch.op->access_of(use.operand) == Access::consume && operand.dtype == out->dtype && operand.is_dense() &&
             operand.count() == out->count();
    });
  }

  [[nodiscard]] std::size_t last_use(std::size_t slot) const {
    std::size_t last = 0;
    for (std::size_t i = 0; i < record_.launches.size(); ++i) {
      if (!is_dead_[i] && (record_.launches[i].uses_slot(slot, false) || record_.launches[i].uses_slot(slot, true))) last = i;
    }
    return last;
  }
  [[nodiscard]] bool is_written(std::size_t slot, std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end && i < record_.launches.size(); ++i) {
      if (!is_dead_[i] && record_.launches[i].uses_slot(slot, true)) return true;
    }
    return false;
  }
  [[nodiscard]] bool is_used(std::size_t slot, std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) {
      if (!is_dead_[i] && record_.launches[i].uses_slot(slot, false)) return true;
    }
    return is_written(slot, begin, end);
  }
  void rename(std::size_t from, std::size_t to, std::ptrdiff_t shift, std::size_t left_out) {
    is_dead_[left_out] = true;
    for (RecordedLaunch& launch : record_.launches) {
      for (RecordedUse& use : launch.uses) {
        if (use.slot == from) use = {to, use.offset + shift, use.operand, use.is_write};
      }
    }
  }

  Record& record_;
  std::vector<bool> is_dead_;
  std::vector<bool> is_result_;
  std::vector<std::vector<std::size_t>> writers_;
};

}  // namespace

void leave_out_copies(Record& record) {
  Editor editor(record);
  editor.keep_constants();
  editor.read_originals();
  editor.write_in_place();
  editor.finish();
}

}  // namespace tutti::graph
