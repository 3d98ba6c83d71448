// An executor that keeps every call it sees and can run them again on other inputs.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tutti/exec/dispatch.h"
#include "tutti/exec/order_calls.h"
#include "tutti/exec/recorded_call.h"

namespace tutti::conformance {

class Recorder final : public Executor {
 public:
  // What a replay gets other values for.
  void add_input(const Tensor& x) { slots_[&x.impl()] = keep(x); }

  void run(OpCall& call) override {
    Step step{RecordedCall(call), {}, 0, {}};
    for (const RecordedInput& input : step.call.inputs()) {
      if (!input.tensor.is_defined()) {
        step.inputs.push_back(no_slot);
      } else if (const auto known = slots_.find(&input.tensor.impl()); known != slots_.end()) {
        step.inputs.push_back(known->second);
      } else {
        step.inputs.push_back(slots_[&input.tensor.impl()] = keep(input.tensor));  // made before: the same in every run
      }
    }
    pass_on(call);
    step.first_output = values_.size();
    step.outputs = call.outputs.size();
    for (std::size_t i = 0; i < call.outputs.size(); ++i) slots_[&call.outputs[i].impl()] = keep(call.outputs[i]);
    if (call.op.kind == OpKind::order) note_order(call, step);
    steps_.push_back(std::move(step));
  }

  // The slot of a tensor that the recorded program gave.
  [[nodiscard]] std::size_t slot_of(const Tensor& x) const { return slots_.at(&x.impl()); }
  [[nodiscard]] bool has(const Tensor& x) const { return slots_.contains(&x.impl()); }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const Step& step : steps_) out += step.call.op().name + step.call.attributes().to_string() + "\n";
    return out;
  }

  // Runs every call again, with these in place of the inputs, which come in the order in which they were added. Returns the
  // values of all slots.
  [[nodiscard]] std::vector<Tensor> replay(std::span<const Tensor> inputs) {
    std::vector<Tensor> values = values_;
    for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = inputs[i];
    std::map<std::size_t, TimelinePoint> points;  // of this run, by the step that recorded them
    for (std::size_t number = 0; number < steps_.size(); ++number) {
      Step& step = steps_[number];
      std::vector<Tensor> operands;
      for (const std::size_t slot : step.inputs) operands.push_back(slot == no_slot ? Tensor() : values[slot]);
      if (step.waits_for != no_slot) {
        const auto& recorded = static_cast<const WaitData&>(*step.call.data());
        step.call.set_data(std::make_shared<WaitData>(recorded.stream(), points.at(step.waits_for)));
      }
      std::vector<Tensor> made = step.call.run(operands);
      for (std::size_t i = 0; i < made.size(); ++i) values[step.first_output + i] = std::move(made[i]);
      if (step.is_record) points[number] = static_cast<const RecordData&>(*step.call.data()).recorded().point;
    }
    return values;
  }

 private:
  static constexpr std::size_t no_slot = ~std::size_t{0};
  struct Step {
    RecordedCall call;
    std::vector<std::size_t> inputs;
    std::size_t first_output = 0;
    std::size_t outputs = 0;
    bool is_record = false;
    std::size_t waits_for = no_slot;  // the step that recorded the point
  };

  std::size_t keep(const Tensor& x) {
    values_.push_back(x);
    return values_.size() - 1;
  }
  void note_order(const OpCall& call, Step& step) {
    if (const auto* record = dynamic_cast<const RecordData*>(call.data)) {
      step.is_record = true;
      const TimelinePoint point = record->recorded().point;
      recorded_[{index_of(point.stream), point.value}] = steps_.size();
    } else if (const auto* wait = dynamic_cast<const WaitData*>(call.data); wait != nullptr && !wait->other()) {
      const auto known = recorded_.find({index_of(wait->point().stream), wait->point().value});
      if (known != recorded_.end()) step.waits_for = known->second;
    }
  }

  std::vector<Step> steps_;
  std::vector<Tensor> values_;  // alive, so that no two tensors ever have one address
  std::unordered_map<const TensorImpl*, std::size_t> slots_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> recorded_;
};

// Shape, dtype and bytes are the same.
testing::AssertionResult are_same(const Tensor& a, const Tensor& b);

}  // namespace tutti::conformance
