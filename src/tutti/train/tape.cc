#include "tutti/train/tape.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/transfer.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/draw.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/gradient_rules.h"
#include "tutti/ops/variable_cell.h"
#include "tutti/ops/views.h"
#include "tutti/place/scope.h"

namespace tutti {

namespace {

LogicalDevice& device_of(const Tensor& x, Site site) { return runtime(site).of(x.impl(site).buffer()->device()); }

void accumulate(Tensor& sum, Tensor more, Site site) {
  sum = sum.is_defined() ? add(std::move(sum), more, site) : std::move(more);
}

// What a mirrored variable means beside its first cell: outside run() it is all of them.
std::span<const std::shared_ptr<VariableCell>> other_cells(const Variable& x) {
  if (detail::thread_state.replica != nullptr) return {};
  return x.cell()->others();
}

// The scope of the device that comes next; most come again and again.
class OnDevice {
 public:
  void go(const LogicalDevice& device, Site site) {
    if (&device == now_) return;
    scope_.reset();
    scope_.emplace(device, site);
    now_ = &device;
  }

 private:
  std::optional<DeviceScope> scope_;
  const LogicalDevice* now_ = nullptr;
};

// A variable's new value as a call of ordinary rows.
struct Sum {
  static void apply(GradientCall& call) {
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (call.wants(i)) call.give(i, detail::sum_to(call.gradient(), call.shape(i), call.site));
    }
  }
};

}  // namespace

void Tape::watch_leaf(const Tensor& x) {
  if (!x.is_defined() || !is_floating(x.dtype())) return;
  const auto [found, is_new] = watched_.try_emplace(x.impl().identity(), 0);
  if (!is_new) return;
  found->second = new_slot();
  known_[found->first] = found->second;
}

void Tape::watch_leaf(const Variable& x) {
  if (!x.cell() || !is_floating(x.dtype())) return;
  for (const std::shared_ptr<VariableCell>& cell : other_cells(x)) watch_cell(cell);
  watch_cell(x.cell());
}

void Tape::watch_cell(const std::shared_ptr<VariableCell>& cell) {
  const auto [found, is_new] = variables_.try_emplace(cell.get());
  if (!is_new) return;
  const Slot slot = new_slot();
  found->second = {cell, slot, slot};
}

Tape::Slot Tape::slot_of(const TensorImpl* x) const {
  if (x == nullptr) return none;
  const auto found = known_.find(x->identity());
  return found == known_.end() ? none : found->second;
}

thread_local std::vector<Tensor>* Tape::taken_by_unseen = nullptr;

void Tape::note_taken(const OpCall& call) const {
  for (std::size_t i = 0; i < call.inputs().size(); ++i) {
    if (slot_of(call.inputs()[i].tensor) == none) continue;
    const auto is_it = [&](const Tensor& known) { return known.ref().get() == call.inputs()[i].tensor; };
    if (std::none_of(taken_by_unseen->begin(), taken_by_unseen->end(), is_it)) taken_by_unseen->push_back(call.tensor(i));
  }
}

void Tape::run(OpCall& call) {
  if (taken_by_unseen != nullptr) {
    note_taken(call);
    return pass_on(call);
  }
  if (call.op.kind == OpKind::read) return read_variable(call);
  if (call.op.kind == OpKind::update) return update_variable(call);
  const bool depends = std::any_of(call.inputs().begin(), call.inputs().end(),
                                   [this](const OpInput& input) { return slot_of(input.tensor) != none; });
  if (!depends) return pass_on(call);
  record(call);
}

void Tape::read_variable(OpCall& call) {
  const VariableCell* const cell = &call.data_as<CellData>().cell();
  pass_on(call);
  const auto found = variables_.find(cell);
  const std::uint64_t identity = call.outputs[0].impl().identity();
  if (found == variables_.end() || found->second.current == none) {
    known_.erase(identity);  // what was assigned meanwhile depends on nothing that is watched
    return;
  }
  known_[identity] = found->second.current;
}

void Tape::update_variable(OpCall& call) {
  const auto found = variables_.find(&call.data_as<CellData>().cell());
  const OpInput given = call.inputs()[0];
  const Slot value = slot_of(given.tensor);
  const bool adds = call.op.name == "AssignAddVariableOp";
  pass_on(call);
  if (found == variables_.end() && value == none) return;
  const std::shared_ptr<VariableCell> cell = std::static_pointer_cast<const CellData>(call.data->keep())->shared();
  Watched& variable =
      found != variables_.end() ? found->second : variables_.try_emplace(cell.get(), Watched{cell, none, none}).first->second;
  const Slot before = adds ? variable.current : none;
  if (value == none && before == none) {
    variable.current = none;
    return;
  }
  // The new value is the one assigned, broadcast, and what was there before.
  static const OpRow& sum = register_op({.name = "_AssignedValue",
                                         .function = "Variable::assign",
                                         .gradient = {.apply = Sum::apply},
                                         .kind = OpKind::update,
                                         .run = [](OpCall&) {}});
  Node node{.op = &sum,
            .site = call.site,
            .attributes = {},
            .data = nullptr,
            .inputs = {},
            .on = &cell->on(),
            .devices = {},
            .outputs = {Tensor()},
            .from = {},
            .to = {new_slot()}};
  const auto from = [&](Slot slot, const Shape& shape, LogicalDevice* on) {
    if (slot == none) return;
    node.inputs.push_back({.tensor = {}, .number = {}, .shape = shape, .dtype = cell->dtype()});
    node.devices.push_back(on);
    node.from.push_back(slot);
  };
  from(before, cell->shape(), &cell->on());
  if (value != none) from(value, given.tensor->shape(), &runtime(call.site).of(given.tensor->buffer()->device()));
  variable.current = node.to[0];
  nodes_.push_back(std::move(node));
}

void Tape::record(OpCall& call) {
  const GradientRule& rule = call.op.gradient;
  Node node{.op = &call.op,
            .site = call.site,
            .attributes = call.attributes,
            .data = nullptr,
            .inputs = {},
            .on = nullptr,
            .devices = {},
            .outputs = {},
            .from = {},
            .to = {}};
  Runtime& instance = runtime(call.site);
  node.inputs.reserve(call.inputs().size());
  std::size_t place = 0;
  for (const OpInput& input : call.inputs()) {
    const std::size_t i = place++;
    const TensorImpl* const x = input.tensor;
    node.inputs.push_back({.tensor = x != nullptr && rule.reads_input(i) ? call.tensor(i) : Tensor(),
                           .number = input,
                           .shape = x != nullptr ? x->shape() : Shape{},
                           .dtype = input.dtype(),
                           .is_number = x == nullptr});
    node.devices.push_back(x != nullptr ? &instance.of(x->buffer()->device()) : nullptr);
    node.from.push_back(slot_of(x));
  }
  if (call.data != nullptr && rule.apply != nullptr) node.data = call.data->keep();
  const bool is_draw = call.draw.generator != nullptr || call.draw.repeats;
  if (is_draw) node.data = std::make_shared<const detail::FromGenerator>();
  pass_on(call);
  // Numbers that a draw took are in the first fields, and belong to its record.
  if (is_draw) {
    node.attributes.overwrite(0, detail::read_as<std::array<std::uint64_t, 2>>(call.attributes.data()));
  }
  bool has_real_output = false;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const Tensor& made = call.outputs[i];
    // A row that gives its input back has done nothing to it.
    const bool is_real = made.is_defined() && is_floating(made.dtype()) && slot_of(made.ref().get()) == none;
    if (is_real && !has_real_output) node.on = &device_of(made, call.site);
    has_real_output = has_real_output || is_real;
    node.to.push_back(is_real ? new_slot() : none);
    node.outputs.push_back(made.is_defined() && rule.reads_output(i) ? made : Tensor());
  }
  if (!has_real_output) return;
  if (rule.apply == nullptr) {
    const std::string& name = call.op.function.empty() ? call.op.name : call.op.function;
    throw NoGradient(
        text(name, " has no gradient: ", rule.none != nullptr ? rule.none : "its row states no rule (OpDefinition::gradient)",
             ". Where none is needed, give it stop_gradient(x)"),
        call.site);
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (node.to[i] != none) known_[call.outputs[i].impl().identity()] = node.to[i];
  }
  nodes_.push_back(std::move(node));
}

template <class Scope>
void Tape::step_back(Node& node, std::vector<Tensor>& gradients, Scope& on, Site site) {
  std::vector<Tensor> given;
  bool is_reached = false;
  for (const Slot slot : node.to) {
    given.push_back(slot == none ? Tensor() : std::move(gradients[slot]));
    is_reached = is_reached || given.back().is_defined();
  }
  if (!is_reached) return;
  const auto wanted = std::make_unique<bool[]>(node.from.size());
  for (std::size_t i = 0; i < node.from.size(); ++i) wanted[i] = node.from[i] != none;
  std::vector<Tensor> results(node.from.size());
  GradientCall call{.op = *node.op,
                    .site = node.site,
                    .attributes = node.attributes,
                    .data = node.data.get(),
                    .inputs = node.inputs,
                    .outputs = node.outputs,
                    .given = given,
                    .wanted = {wanted.get(), node.from.size()},
                    .results = results};
  on.go(*node.on, node.site);
  node.op->gradient.apply(call);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (node.from[i] == none || !results[i].is_defined()) continue;
    const GradientInput& input = node.inputs[i];
    if (!(results[i].shape() == input.shape) || results[i].dtype() != input.dtype) {
      throw InvalidState(
          text("the rule of ", node.op->name, " gave input ", i, " a gradient of ", to_string(results[i].dtype()), " ",
               to_string(results[i].shape()), "; the input is ", to_string(input.dtype), " ", to_string(input.shape)),
          node.site);
    }
    if (&device_of(results[i], site) != node.devices[i])
      results[i] = copied(results[i], *node.devices[i], {.if_elsewhere = true}, node.site);
    on.go(*node.devices[i], node.site);
    accumulate(gradients[node.from[i]], std::move(results[i]), node.site);
  }
}

std::vector<Tensor> Tape::gradients(std::span<const Tensor> of, std::span<const Wanted> with_respect_to,
                                    std::span<const Tensor> weights, bool is_last, Site site) {
  std::vector<Tensor> found(slots_);
  OnDevice on;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const Tensor& each = of[i];
    const Tensor& weight = weights[i];
    if (!is_floating(each.dtype(site)))
      throw NoGradient(text("a gradient of ", to_string(each.dtype()), " was asked for; only floating dtypes have one"), site);
    if (!weight.is_defined() && each.size() != 1) {
      throw NoGradient(text("a gradient of a tensor of shape ", to_string(each.shape()),
                            " was asked for: it must be one number. Take its sum or mean first, or give weights of its shape"),
                       site);
    }
    const auto begin = known_.find(each.impl().identity());
    if (begin == known_.end()) continue;
    on.go(device_of(each, site), site);
    accumulate(
        found[begin->second],
        weight.is_defined() ? broadcast_to(cast(weight, each.dtype(), site), each.shape(), site) : ones_like(each, {}, site),
        site);
  }
  std::vector<Slot> asked;  // of each that is wanted, and then of the other cells of mirrored variables
  std::vector<std::pair<std::size_t, Slot>> mirrored;  // whose gradients are added to that of which
  const auto of_cell = [&](const VariableCell* cell) {
    const auto watched = variables_.find(cell);
    return watched == variables_.end() ? none : watched->second.first;
  };
  for (const Wanted& each : with_respect_to) {
    const bool is_tensor = each.tensor != nullptr;
    Slot slot = none;
    if (is_tensor) {
      const auto watched = watched_.find(each.tensor->impl(site).identity());
      if (watched != watched_.end()) slot = watched->second;
    } else {
      slot = of_cell(each.variable->cell().get());
      for (const std::shared_ptr<VariableCell>& cell : other_cells(*each.variable)) {
        const Slot other = of_cell(cell.get());
        const bool is_new = std::find(asked.begin(), asked.end(), slot) == asked.end();
        if (is_new && other != none) mirrored.emplace_back(asked.size(), other);
      }
    }
    if (slot == none) throw NoGradient("a gradient was asked for that was not watched: call Tape::watch before it is used", site);
    asked.push_back(slot);
  }
  for (const auto& [first, slot] : mirrored) asked.push_back(slot);
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    // What is asked for stays when its maker is passed.
    std::vector<std::pair<Slot, Tensor>> kept;
    for (const Slot slot : nodes_[i].to) {
      if (slot != none && std::find(asked.begin(), asked.end(), slot) != asked.end()) kept.emplace_back(slot, found[slot]);
    }
    step_back(nodes_[i], found, on, site);
    for (auto& [slot, value] : kept) found[slot] = std::move(value);
    if (is_last) nodes_.pop_back();
  }
  for (const auto& [first, slot] : mirrored) {
    if (!found[slot].is_defined()) continue;
    LogicalDevice& there = with_respect_to[first].variable->cell()->on();
    on.go(there, site);
    accumulate(found[asked[first]], copied(found[slot], there, {.if_elsewhere = true}, site), site);
  }
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < with_respect_to.size(); ++i) {
    if (found[asked[i]].is_defined()) {
      out.push_back(found[asked[i]]);
      continue;
    }
    const Tensor like =
        with_respect_to[i].tensor != nullptr ? *with_respect_to[i].tensor : with_respect_to[i].variable->value(site);
    on.go(device_of(like, site), site);
    out.push_back(zeros_like(like, {}, site));
  }
  return out;
}

Tensor Tape::gradient(const Tensor& of, const Tensor& with_respect_to, const Tensor& weights, Site site) {
  const Wanted one{.tensor = &with_respect_to};
  return std::move(gradients(of, {&one, 1}, weights, false, site)[0]);
}

Tensor Tape::gradient(const Tensor& of, const Variable& with_respect_to, const Tensor& weights, Site site) {
  const Wanted one{.variable = &with_respect_to};
  return std::move(gradients(of, {&one, 1}, weights, false, site)[0]);
}

}  // namespace tutti
