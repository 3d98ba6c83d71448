#include <algorithm>
#include <cstddef>

#include "tutti/exec/attributes.h"
#include "tutti/graph/fusion.h"
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

  // Copies of constants, and small values that are worked out from nothing else, stay as the first call has left them.
  void keep_constants() {
    for (std::size_t i = 0; i < record_.launches.size(); ++i) {
      const RecordedLaunch& launch = record_.launches[i];
      if (!launch.op->is_copy && !is_small_kernel(launch)) continue;
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

  // A layer (ops/linear.h) and the relu of its result are one launch, where nobody else reads what is between them.
  void join_activations() {
    for (std::size_t i = 0; i < record_.launches.size(); ++i) {
      RecordedLaunch& layer = record_.launches[i];
      if (is_dead_[i] || layer.op->name != "FusedMatMul" || layer.attributes.as<LinearAttributes>().relu) continue;
      RecordedUse* const sum = use_of(layer, layer.inputs);
      const std::size_t next = next_use(sum->slot, i + 1);
      if (next == record_.launches.size() || record_.launches[next].op->name != "Relu") continue;
      const RecordedLaunch& relu = record_.launches[next];
      const RecordedUse* const from = use_of(relu, 0);
      const RecordedUse* const to = use_of(relu, 1);
      if (from == nullptr || relu.stream != layer.stream || from->offset != sum->offset || to->offset != 0) continue;
      if (!is_alike(layer.operands[layer.inputs], relu.operands[0]) || !is_alike(layer.operands[layer.inputs], relu.operands[1]))
        continue;
      const auto is_between = [&](const OrderStep& step) { return step.before > i && step.before <= next; };
      if (std::any_of(record_.order.begin(), record_.order.end(), is_between)) continue;
      if (to->slot != sum->slot) {
        if (record_.slots[sum->slot].kind != Slot::Kind::value || is_result_[sum->slot] || last_use(sum->slot) != next) continue;
        if (writers_[sum->slot].size() != 1 || is_used(to->slot, i, next)) continue;
        std::replace(writers_[to->slot].begin(), writers_[to->slot].end(), next, i);
      }
      layer.attributes.overwrite(offsetof(LinearAttributes, relu), true);
      *sum = {to->slot, to->offset, sum->operand, true};
      is_dead_[next] = true;
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
  [[nodiscard]] bool is_small_kernel(const RecordedLaunch& launch) const {
    constexpr std::size_t most_bytes = 4096;
    return launch.op->kind == OpKind::kernel && launch.op->is_elementwise && launch.drawn == nowhere &&
           std::all_of(launch.uses.begin(), launch.uses.end(), [&](const RecordedUse& use) {
             return !use.is_write || (record_.slots[use.slot].bytes <= most_bytes && !is_result_[use.slot]);
           });
  }

  // All of one piece of memory into another on the same device, element by element in row-major order.
  [[nodiscard]] bool is_plain_copy(const RecordedLaunch& launch) const {
    if (launch.op->kind != OpKind::copy || launch.uses.size() != 2 || launch.inputs != 1 || launch.outputs != 1) return false;
    const Operand& from = launch.operands[0];
    const Operand& to = launch.operands[1];
    const Slot& source = record_.slots[launch.uses[0].slot];
    const Slot& target = record_.slots[launch.uses[1].slot];
    return source.device == target.device && source.is_pinned == target.is_pinned && launch.uses[0].slot != launch.uses[1].slot &&
           from.dtype == to.dtype && from.count() == to.count() && from.is_dense() && to.is_dense();
  }

  template <class Launch>
  static auto use_of(Launch& launch, std::size_t operand) -> decltype(launch.uses.data()) {
    for (auto& use : launch.uses) {
      if (use.operand == operand) return &use;
    }
    return nullptr;
  }
  static bool is_alike(const Operand& a, const Operand& b) {
    return a.dtype == b.dtype && a.count() == b.count() && a.is_dense() && b.is_dense();
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
    if (launch.op->may_alias &&
        std::count_if(launch.uses.begin(), launch.uses.end(), [&](const RecordedUse& use) { return use.slot == variable; }) > 1)
      return false;
    return std::all_of(launch.uses.begin(), launch.uses.end(), [&](const RecordedUse& use) {
      if (use.slot != variable) return true;
      const Operand& operand = launch.operands[use.operand];
      const bool is_in_place = launch.op->may_alias || (launch.op->is_elementwise && launch.outputs == 1 &&
                                                        launch.op->access_of(use.operand) == Access::consume);
      return is_in_place && !use.is_write && use.offset == 0 && operand.dtype == out->dtype && operand.is_dense() &&
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
  // The first launch from there on that reads or writes it.
  [[nodiscard]] std::size_t next_use(std::size_t slot, std::size_t begin) const {
    while (begin < record_.launches.size() && (is_dead_[begin] || !(record_.launches[begin].uses_slot(slot, false) ||
                                                                    record_.launches[begin].uses_slot(slot, true))))
      ++begin;
    return begin;
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
  if (is_fusion_on()) editor.join_activations();
  editor.finish();
}

}  // namespace tutti::graph
