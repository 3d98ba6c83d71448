#include "tutti/train/optimizers.h"

#include <cmath>
#include <numbers>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/ops/comparison.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/math.h"
#include "tutti/ops/reduction.h"
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
  Tensor total;
  for (const Tensor& gradient : gradients) {
    const Tensor part = sum(square(cast(gradient, DType::f32, site), site), site);
    total = total.is_defined() ? add(std::move(total), part, site) : part;
  }
  // As PyTorch has it: a little is added, so that nothing is divided by 0.
  const Tensor scale = minimum(divide(most, add(sqrt(total, site), 1e-6, site), site), 1, site);
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

Optimizer::Optimizer(std::vector<Variable> parameters, LearningRate rate, std::size_t states_each, Site site)
    : parameters_(std::move(parameters)),
      states_each_(states_each),
      step_(step_zero(parameters_, site), site),
      rate_(std::move(rate)) {
  step_.set_trainable(false);
  for (const Variable& parameter : parameters_) {
    const DeviceScope there(parameter.device(), site);
    const bool has_master = is_half_precision(parameter.dtype());
    const DType dtype = has_master ? DType::f32 : parameter.dtype();
    masters_.push_back(has_master ? std::optional(Variable(cast(parameter.value(site), DType::f32, site), site)) : std::nullopt);
    for (std::size_t i = 0; i < states_each; ++i) {
      state_.emplace_back(zeros(parameter.shape(), dtype, site), site);
      state_.back().set_trainable(false);
    }
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
  Tensor done;
  Tensor rate;
  {
    const DeviceScope there(step_.device(), site);
    const Tensor number = step_.value(site);
    rate = rate_.schedule(cast(number, DType::f32, site));
    step_.assign_add(1, site);
    done = cast(add(number, 1, site), DType::f32, site);
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Variable& parameter = parameters_[i];
    const DeviceScope there(parameter.device(), site);
    const Variable& followed = masters_[i] ? *masters_[i] : parameter;
    const DType dtype = followed.dtype();
    const Tensor next = moved({.value = followed.value(site),
                               .gradient = cast(gradients[i], dtype, site),
                               .rate = cast(rate, dtype, site),
                               .step = done,
                               .state = std::span(state_).subspan(i * states_each_, states_each_)},
                              site);
    followed.assign(next, site);
    if (masters_[i]) parameter.assign(cast(next, parameter.dtype(), site), site);
  }
}

Sgd::Sgd(std::vector<Variable> parameters, LearningRate rate, const SgdOptions& options, Site site)
    : Optimizer(std::move(parameters), std::move(rate), options.momentum != 0 ? 1 : 0, site), options_(options) {
  if (options.nesterov && options.momentum == 0) throw InvalidArgument("Sgd: Nesterov's form needs a momentum above 0", site);
}

Tensor Sgd::moved(const Parameter& parameter, Site site) {
  Tensor gradient = parameter.gradient;
  if (options_.weight_decay != 0) gradient = add(multiply(parameter.value, options_.weight_decay, site), gradient, site);
  if (options_.momentum != 0) {
    const Variable& velocity = parameter.state[0];
    const Tensor next = add(multiply(velocity.value(site), options_.momentum, site), gradient, site);
    velocity.assign(next, site);
    gradient = options_.nesterov ? add(gradient, multiply(next, options_.momentum, site), site) : next;
  }
  return subtract(parameter.value, multiply(gradient, parameter.rate, site), site);
}

Adam::Adam(std::vector<Variable> parameters, LearningRate rate, const AdamOptions& options, Site site)
    : Optimizer(std::move(parameters), std::move(rate), 2, site), options_(options) {}

Tensor Adam::moved(const Parameter& parameter, Site site) {
  const AdamOptions& o = options_;
  const DType dtype = parameter.value.dtype();
  Tensor gradient = parameter.gradient;
  if (o.weight_decay != 0 && !o.decouple_decay) gradient = add(multiply(parameter.value, o.weight_decay, site), gradient, site);
  const Variable& first = parameter.state[0];
  const Variable& second = parameter.state[1];
  const Tensor mean_of = add(multiply(first.value(site), o.beta1, site), multiply(gradient, 1 - o.beta1, site), site);
  const Tensor square_of =
      add(multiply(second.value(site), o.beta2, site), multiply(square(gradient, site), 1 - o.beta2, site), site);
  first.assign(mean_of, site);
  second.assign(square_of, site);
  // What the zeros at the beginning took off is given back.
  const auto share = [&](double beta) { return cast(subtract(1, pow(beta, parameter.step, site), site), dtype, site); };
  const Tensor deviation = add(sqrt(divide(square_of, share(o.beta2), site), site), o.epsilon, site);
  const Tensor change = multiply(divide(mean_of, deviation, site), divide(parameter.rate, share(o.beta1), site), site);
  Tensor value = parameter.value;
  if (o.weight_decay != 0 && o.decouple_decay)
    value = multiply(value, subtract(1, multiply(parameter.rate, o.weight_decay, site), site), site);
  return subtract(value, change, site);
}

}  // namespace tutti
