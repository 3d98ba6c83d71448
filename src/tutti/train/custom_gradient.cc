#include "tutti/train/custom_gradient.h"

#include <algorithm>
#include <array>
#include <map>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/transfer.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/variable_cell.h"

namespace tutti::detail {

namespace {

// What has run already, as one call of a tape's.
struct StatedCall final : CallData {
  StatedCall(Tensors made, StatedGradient back) : outputs(std::move(made)), gradient(std::move(back)) {}
  [[nodiscard]] std::shared_ptr<const CallData> keep() const override {
    return std::make_shared<StatedCall>(Tensors{}, gradient);
  }

  Tensors outputs;
  StatedGradient gradient;
};

void run_stated(OpCall& call) {
  for (const Tensor& made : call.data_as<StatedCall>().outputs) call.outputs.push_back(made);
}

void stated_rule(GradientCall& call) {
  Tensors inputs;
  for (const GradientInput& input : call.inputs) inputs.push_back(input.tensor);
  Tensors found = static_cast<const StatedCall*>(call.data)->gradient(inputs, call.outputs, call.given);
  if (found.size() != inputs.size()) {
    throw InvalidArgument(text("a stated gradient gave ", found.size(), " gradients for ", inputs.size(), " inputs"), call.site);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (call.wants(i)) call.give(i, std::move(found[i]));
  }
}

const OpRow& stated_row = register_op({.name = "CustomGradient",
                                       .function = "custom_gradient",
                                       .gradient = {.apply = stated_rule, .reads_inputs = 0xFF, .reads_outputs = 0xFF},
                                       .kind = OpKind::region,
                                       .run = run_stated});

void record(const Tensors& inputs, Tensors outputs, StatedGradient gradient, Site site) {
  const StatedCall data(std::move(outputs), std::move(gradient));
  OpCall call(stated_row, site);
  for (const Tensor& input : inputs) call.add(input);
  call.data = &data;
  dispatch(call);
}

using DrawnNumbers = std::array<std::uint64_t, 2>;
using Cell = std::shared_ptr<VariableCell>;

// Sees the calls of a function that is one op to tapes: they hear of the variables it reads, and of nothing else. Variables get
// their new values when all of it has run. The second time it finds what it found the first time.
class Region final : public Executor {
 public:
  void run(OpCall& call) override {
    if (call.op.kind == OpKind::read) return read(call);
    if (call.op.kind == OpKind::update) return update(call);
    const bool draws = call.draw.generator != nullptr;
    if (!is_again_) {
      {
        const Tape::Unseen hidden(taken_);
        pass_on(call);
      }
      if (draws) drawn_.push_back(read_as<DrawnNumbers>(call.attributes.data()));
      return;
    }
    for (OpInput& input : call.inputs()) {
      if (const Tensor* const other = replacement(input.tensor)) input.tensor = &other->impl();
    }
    if (draws) {
      if (next_ == drawn_.size()) throw InvalidState("checkpoint: the function draws more numbers the second time", call.site);
      call.attributes.overwrite(0, drawn_[next_++]);
      call.draw = {.repeats = true};
    }
    pass_on(call);
  }

  Tensors first(const std::function<Tensors()>& function) {
    const ExecutorScope on(*this);
    return function();
  }
  void found(const Cell& cell, const Tensor& value) {
    found_[cell] = value;
    values_[cell] = value;
  }

  // Tensors that tapes know and the function took.
  [[nodiscard]] const Tensors& taken() const noexcept { return taken_; }
  // The new values of the variables it assigned, in an order that is the same the second time.
  [[nodiscard]] Tensors assigned() const {
    Tensors out;
    for (const Cell& cell : assigned_) {
      if (const auto known = values_.find(cell); known != values_.end()) out.push_back(known->second);
    }
    return out;
  }
  void assign(Site site) const {
    static const OpRow& row = find_op("AssignVariableOp");
    for (const Cell& cell : assigned_) {
      const CellData data(cell);
      OpCall call(row, site);
      call.data = &data;
      call.add(values_.at(cell));
      dispatch(call);
    }
  }
  // Only what a second run needs.
  void end() {
    taken_.clear();
    values_.clear();
  }

  Tensors gradients(const std::function<Tensors()>& again, std::span<const Tensor> inputs, std::span<const Tensor> given,
                    Site site) {
    Tape tape;
    Tensors fresh;
    for (const Tensor& input : inputs) fresh.push_back(identity(input, site));
    std::vector<Tape::Wanted> wanted;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      tape.watch_leaf(fresh[i]);
      replaced_[inputs[i].impl().identity()] = fresh[i];
      wanted.push_back({.tensor = &fresh[i]});
    }
    values_ = found_;
    is_again_ = true;
    next_ = 0;
    Tensors of;
    {
      const Tape::Recording recorded(tape);
      of = first(again);
    }
    for (Tensor& each : assigned()) of.push_back(std::move(each));
    if (of.size() != given.size()) {
      throw InvalidState(
          text("checkpoint: the function gave ", given.size(), " tensors the first time and ", of.size(), " the second"), site);
    }
    Tensors reached;
    Tensors weights;
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (!given[i].is_defined()) continue;
      const Tensor* const other = replacement(of[i].ref().get());
      reached.push_back(other != nullptr ? *other : of[i]);
      weights.push_back(given[i]);
    }
    replaced_.clear();
    values_.clear();
    return tape.gradients(reached, wanted, weights, true, site);
  }

 private:
  void read(OpCall& call) {
    const Cell& cell = call.data_as<CellData>().shared();
    const auto known = values_.find(cell);
    if (known == values_.end()) {
      if (is_again_) throw InvalidState("checkpoint: the function reads another variable the second time", call.site);
      pass_on(call);
      return found(cell, call.outputs[0]);
    }
    const Tensor* const other = replacement(known->second.ref().get());
    call.outputs.push_back(other != nullptr ? *other : known->second);
  }

  void update(OpCall& call) {
    const Cell cell = call.data_as<CellData>().shared();
    const OpInput& given = call.inputs()[0];
    Tensor value = given.tensor != nullptr ? call.tensor(0)
                                           : from_bytes(given.scalar_dtype, Shape{},
                                                        std::span(given.scalar).first(size_of(given.scalar_dtype)), call.site);
    if (call.op.name == "AssignAddVariableOp") {
      OpCall before(find_op("ReadVariableOp"), call.site);
      before.data = call.data;
      read(before);
      value = cast(add(before.outputs[0], value, call.site), cell->dtype(), call.site);
    }
    value = broadcast_to(copied(value, cell->on(), {.if_elsewhere = true}, call.site), cell->shape(), call.site);
    values_[cell] = std::move(value);
    if (std::find(assigned_.begin(), assigned_.end(), cell) == assigned_.end()) assigned_.push_back(cell);
  }

  [[nodiscard]] const Tensor* replacement(const TensorImpl* x) const {
    if (x == nullptr) return nullptr;
    const auto other = replaced_.find(x->identity());
    return other == replaced_.end() ? nullptr : &other->second;
  }

  Tensors taken_;
  std::vector<DrawnNumbers> drawn_;
  std::map<Cell, Tensor> found_;   // values that were there before
  std::map<Cell, Tensor> values_;  // those of the moment
  std::vector<Cell> assigned_;
  bool is_again_ = false;
  std::size_t next_ = 0;
  std::map<std::uint64_t, Tensor> replaced_;  // by identity: inputs of the first run, and of the second
};

}  // namespace

void run_with_gradient(const Tensors& inputs, const std::vector<std::pair<Variable, Tensor>>& given,
                       const std::function<Tensors()>& function, StatedGradient gradient, Site site) {
  Region region;
  for (const auto& [variable, value] : given) region.found(variable.cell(), value);
  const Tensors outputs = region.first(function);
  for (const Tensor& taken : region.taken()) {
    const auto is_it = [&](const Tensor& input) { return input.ref().get() == taken.ref().get(); };
    if (std::any_of(inputs.begin(), inputs.end(), is_it)) continue;
    throw NoGradient(
        text("custom_gradient: the function uses a ", to_string(taken.dtype()), " tensor or variable of shape ",
             to_string(taken.shape()),
             " that a gradient is being taken of, and the stated gradient says nothing of it; make it an argument, or "
             "use what stop_gradient(x) outside of the function gives"),
        site);
  }
  record(inputs, outputs, std::move(gradient), site);
  region.assign(site);
}

void run_checkpoint(const std::function<Tensors()>& first, std::function<Tensors()> again, Site site) {
  const auto region = std::make_shared<Region>();
  Tensors outputs = region->first(first);
  for (Tensor& each : region->assigned()) outputs.push_back(std::move(each));
  if (!region->taken().empty()) {
    const auto gradient = [region, again = std::move(again), site](std::span<const Tensor> inputs, std::span<const Tensor>,
                                                                   std::span<const Tensor> given) {
      return region->gradients(again, inputs, given, site);
    };
    record(region->taken(), std::move(outputs), gradient, site);
  }
  region->assign(site);
  region->end();
}

}  // namespace tutti::detail
