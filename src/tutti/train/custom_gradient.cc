#include "tutti/train/custom_gradient.h"

#include <array>
#include <map>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/ops/variable_cell.h"

namespace tutti {

namespace {

struct StatedCall final : CallData {
  StatedCall(detail::TensorFunction run, StatedGradient back) : function(std::move(run)), gradient(std::move(back)) {}
  [[nodiscard]] std::shared_ptr<const CallData> keep() const override { return std::make_shared<StatedCall>(*this); }

  detail::TensorFunction function;
  StatedGradient gradient;
};

void run_stated(OpCall& call) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < call.inputs().size(); ++i) inputs.push_back(call.tensor(i));
  for (Tensor& made : call.data_as<StatedCall>().function(inputs)) call.outputs.push_back(std::move(made));
}

void stated_rule(GradientCall& call) {
  std::vector<Tensor> inputs;
  for (const GradientInput& input : call.inputs) inputs.push_back(input.tensor);
  std::vector<Tensor> found = static_cast<const StatedCall*>(call.data)->gradient(inputs, call.outputs, call.given);
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

using DrawnNumbers = std::array<std::uint64_t, 2>;

}  // namespace

namespace detail {

std::vector<Tensor> call_with_gradient(TensorFunction function, StatedGradient gradient, std::span<const Tensor> inputs,
                                       Site site) {
  const StatedCall data(std::move(function), std::move(gradient));
  OpCall call(stated_row, site);
  for (const Tensor& input : inputs) call.add(input);
  call.data = &data;
  dispatch(call);
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) out.push_back(call.outputs.take(i));
  return out;
}

class Rerun final : public Executor {
 public:
  void run(OpCall& call) override {
    if (call.draw.generator == nullptr) {
      const auto known = call.op.kind == OpKind::read ? values_.find(&call.data_as<CellData>().cell()) : values_.end();
      if (known == values_.end()) return pass_on(call);
      return call.outputs.push_back(known->second);
    }
    if (is_again_) {
      if (next_ == drawn_.size()) throw InvalidState("checkpoint: the function draws more numbers the second time", call.site);
      call.attributes.overwrite(0, drawn_[next_++]);
      call.draw = {.repeats = true};
      return pass_on(call);
    }
    pass_on(call);
    drawn_.push_back(read_as<DrawnNumbers>(call.attributes.data()));
  }

  void begin_again(std::span<const Variable> variables, std::span<const Tensor> values) {
    is_again_ = true;
    next_ = 0;
    values_.clear();
    for (std::size_t i = 0; i < variables.size(); ++i) values_[variables[i].cell().get()] = values[i];
  }

 private:
  std::vector<DrawnNumbers> drawn_;
  std::size_t next_ = 0;
  bool is_again_ = false;
  std::map<const VariableCell*, Tensor> values_;
};

std::shared_ptr<Rerun> new_rerun() { return std::make_shared<Rerun>(); }

void run_first(Rerun& state, const std::function<void()>& function) {
  const ExecutorScope noted(state);
  function();
}

void run_again(Rerun& state, std::span<const Variable> variables, std::span<const Tensor> values, Executor& tape,
               const std::function<void()>& function) {
  state.begin_again(variables, values);
  const ExecutorScope same(state);  // around the tape, which must see reads and draws
  const ExecutorScope recorded(tape);
  function();
}

}  // namespace detail

}  // namespace tutti
