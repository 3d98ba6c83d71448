#include "tutti/train/optimizers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/optimizer_attributes.h"
#include "tutti/ops/comparison.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/math.h"
#include "tutti/ops/reduction.h"
#include "tutti/ops/variable_cell.h"
#include "tutti/place/scope.h"

namespace tutti {

Schedule constant_rate(double rate) {
  return [rate](const Tensor& step) { return full_like(step, rate); };
}

Schedule warmup_cosine(double rate, std::int64_t warmup, std::int64_t total, double last) {
  if (warmup < 0 || total <= warmup)
    throw InvalidArgument(text("warmup_cosine: ", warmup, " steps of warm-up do not come before step ", total), Site());
  return [=](const Tensor& step) {
    const Tensor rising = multiply(step, rate / std::max<double>(1, static_cast<double>(warmup)));
    const Tensor share = clip((step - static_cast<double>(warmup)) / static_cast<double>(total - warmup), 0, 1);
    const Tensor falling = (cos(share * std::numbers::pi) + 1) * ((rate - last) / 2) + last;
    return where(less(step, static_cast<double>(warmup)), rising, falling);
  };
}

Schedule exponential_decay(double rate, std::int64_t every, double factor) {
  if (every < 1) throw InvalidArgument(text("exponential_decay: every ", every, " steps"), Site());
  return [=](const Tensor& step) { return pow(factor, floor(step / static_cast<double>(every))) * rate; };
}

std::vector<Tensor> clip_by_global_norm(std::span<const Tensor> gradients, double most, Site site) {
  if (!(most > 0)) throw InvalidArgument(text("clip_by_global_norm: the largest norm must be above 0, not ", most), site);
  std::vector<Tensor> out;
  if (gradients.empty()) return out;
  std::vector<Tensor> norms;
  for (const Tensor& gradient : gradients) norms.push_back(vector_norm(cast(gradient, DType::f32, site), site));
  // As PyTorch has it: a little is added, so that nothing is divided by 0.
  const Tensor norm = vector_norm(stack(norms, 0, site), site);
  const Tensor scale = minimum(divide(most, add(norm, 1e-6, site), site), 1, site);
  for (const Tensor& gradient : gradients) {
    const DeviceScope there(gradient.device(), site);
    out.push_back(multiply(gradient, cast(scale, gradient.dtype(), site), site));
  }
  return out;
}

namespace {

bool is_half_precision(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

Tensor step_zero(const std::vector<Variable>& variables, Site site) {
  if (variables.empty()) throw InvalidArgument("an optimizer needs at least one parameter; is everything frozen?", site);
  const DeviceScope there(variables[0].device(), site);
  return zeros({}, DType::i64, site);
}

}  // namespace

namespace {

// So many elements have new values before the old ones are let go of.
constexpr std::int64_t most_together = 4 << 20;

template <class AttributesOf>
void infer_step(Inference& in) {
  const std::size_t states = in.attributes<AttributesOf>().states();
  const std::size_t each = 2 + states;
  if (in.inputs() < each + 2 || (in.inputs() - 2) % each != 0) in.expect_inputs(each + 2);
  const std::size_t numbers = in.inputs() - 2;
  if (in.dtype(numbers) != DType::f32 || in.dtype(numbers + 1) != DType::i64)
    in.reject_dtypes("the learning rate must be float32 and the number of the step int64");
  for (std::size_t i = 0; i < numbers; ++i) {
    const std::size_t value = i - i % each;
    if (in.dtype(i) != in.dtype(0)) in.reject_dtypes("all parameters must have one dtype");
    if (!(in.shape(i) == in.shape(value))) in.reject_shapes("a gradient or state must have its parameter's shape");
    if (i % each != 1) in.output(in.dtype(0), in.shape(i));
  }
}

OpDefinition step_op(const char* name, const char* function, Infer infer) {
  return {.name = name,
          .function = function,
          .infer = infer,
          .may_alias = true,
          .takes = wide_floats,
          .gradient = no_gradient("how a step changes with what it was given is not worked out; write it with ops")};
}
const OpRow& gradient_descent_row = register_op(step_op("ApplyGradientDescent", "Sgd", infer_step<GradientDescentAttributes>));
const OpRow& adam_row = register_op(step_op("ApplyAdam", "Adam", infer_step<AdamAttributes>));

}  // namespace

Optimizer::Optimizer(std::vector<Variable> parameters, LearningRate rate, const OpRow& row, const Attributes& attributes,
                     std::size_t states_each, Site site)
    : parameters_(std::move(parameters)),
      row_(row),
      attributes_(attributes),
      states_each_(states_each),
      step_(step_zero(parameters_, site), site),
      schedule_(std::move(rate.schedule)) {
  step_.set_trainable(false);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto is_same = [&](std::size_t other) { return parameters_[other].cell() == parameters_[i].cell(); };
    if (std::none_of(distinct_.begin(), distinct_.end(), is_same)) distinct_.push_back(i);
  }
  if (!schedule_) rate_.emplace(full_like(step_.value(site), rate.constant, DType::f32, site), site);
  std::int64_t together = 0;
  for (std::size_t i = 0; i < distinct_.size(); ++i) {
    const Variable& parameter = parameters_[distinct_[i]];
    const DeviceScope there(parameter.cell()->on(), site);
    const bool has_master = is_half_precision(parameter.dtype());
    masters_.push_back(has_master ? std::optional(Variable(cast(parameter.value(site), DType::f32, site), site)) : std::nullopt);
    for (std::size_t k = 0; k < states_each; ++k) {
      state_.emplace_back(zeros(parameter.shape(), followed(i).dtype(), site), site);
      state_.back().set_trainable(false);
    }
    const std::int64_t size = *element_count(parameter.shape());
    const bool joins = i > 0 && together + size <= most_together && followed(i).dtype() == followed(i - 1).dtype() &&
                       &parameter.cell()->on() == &followed(i - 1).cell()->on();
    together = joins ? together + size : size;
    if (joins) ends_.pop_back();
    ends_.push_back(i + 1);
  }
}

void Optimizer::update(std::span<const Tensor> gradients, Site site) {
  if (gradients.size() != parameters_.size()) {
    throw InvalidArgument(text("an optimizer of ", parameters_.size(), " parameters was given ", gradients.size(), " gradients"),
                          site);
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].shape(site) == parameters_[i].shape()) continue;
    throw ShapeError(text("gradient ", i, " has the shape ", to_string(gradients[i].shape()), "; its parameter ",
                          to_string(parameters_[i].shape())),
                     site);
  }
  const Tensor rate = [&] {
    if (rate_) return rate_->value(site);
    const DeviceScope there(step_.cell()->on(), site);
    return cast(schedule_(cast(step_.value(site), DType::f32, site)), DType::f32, site);
  }();
  step_.assign_add(1, site);
  const Tensor number = step_.value(site);
  std::size_t begin = 0;
  for (const std::size_t end : ends_) {
    update_together(gradients, begin, end, rate, number, site);
    begin = end;
  }
}

void Optimizer::update_together(std::span<const Tensor> gradients, std::size_t begin, std::size_t end, const Tensor& rate,
                                const Tensor& number, Site site) {
  const DeviceScope there(followed(begin).cell()->on(), site);
  OpCall call(row_, site);
  call.attributes = attributes_;
  {
    std::vector<Tensor> held;  // what the call borrows, and no longer: the old values can then be let go of
    held.reserve((end - begin) * (2 + states_each_));
    const auto take = [&](Tensor x) { call.add(held.emplace_back(std::move(x))); };
    for (std::size_t i = begin; i < end; ++i) {
      take(followed(i).value(site));
      take(cast(gradients[distinct_[i]], followed(i).dtype(), site));
      for (std::size_t k = 0; k < states_each_; ++k) take(state_[i * states_each_ + k].value(site));
    }
    call.add(rate);
    call.add(number);
    dispatch(call);
  }
  std::size_t next = 0;
  for (std::size_t i = begin; i < end; ++i) {
    Tensor value = call.outputs.take(next++);
    const Variable& parameter = parameters_[distinct_[i]];
    if (masters_[i]) parameter.assign(cast(value, parameter.dtype(), site), site);
    followed(i).assign(std::move(value), site);
    for (std::size_t k = 0; k < states_each_; ++k) state_[i * states_each_ + k].assign(call.outputs.take(next++), site);
  }
}

Sgd::Sgd(std::vector<Variable> parameters, LearningRate rate, const SgdOptions& options, Site site)
    : Optimizer(std::move(parameters), std::move(rate), gradient_descent_row,
                Attributes(GradientDescentAttributes{options.momentum, options.weight_decay, options.nesterov}),
                options.momentum != 0 ? 1 : 0, site) {
  if (options.nesterov && options.momentum == 0) throw InvalidArgument("Sgd: Nesterov's form needs a momentum above 0", site);
}

Adam::Adam(std::vector<Variable> parameters, LearningRate rate, const AdamOptions& options, Site site)
    : Optimizer(
          std::move(parameters), std::move(rate), adam_row,
          Attributes(AdamAttributes{options.beta1, options.beta2, options.epsilon, options.weight_decay, options.decouple_decay}),
          AdamAttributes::states(), site) {}

}  // namespace tutti
