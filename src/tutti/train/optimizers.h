// Optimizers: how variables follow their gradients. Their state, the number of the step and the learning rate are on the device:
// an update is one op for many parameters and their assignments, and waits for nothing.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tutti/ops/variable.h"
#include "tutti/train/parameters.h"

namespace tutti {

// From the number of the step, from 0, as an f32 tensor of one element: the learning rate likewise. Made of ops.
using Schedule = std::function<Tensor(const Tensor& step)>;
Schedule constant_rate(double rate);
// Linear from 0 over the first steps, then along half a cosine down to `last` at step `total`.
Schedule warmup_cosine(double rate, std::int64_t warmup, std::int64_t total, double last = 0);
Schedule exponential_decay(double rate, std::int64_t every, double factor);

struct LearningRate {
  LearningRate(double rate) : constant(rate) {}
  LearningRate(Schedule given) : schedule(std::move(given)) {}
  double constant = 0;
  Schedule schedule;  // empty: the constant
};

// The gradients scaled so that the root of the sum of all their squares is at most this.
std::vector<Tensor> clip_by_global_norm(std::span<const Tensor> gradients, double most, Site site = {});

// What optimizers have in common. Parameters of half precision have a copy in f32 that follows the gradients, and take its value.
class Optimizer {
 public:
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One step. As many gradients as parameters, in their order, each of its shape. A variable that is there several times counts
  // once, by its first gradient: each has the whole one.
  void update(std::span<const Tensor> gradients, Site site = {});
  void update(const std::vector<Tensor>& gradients, Site site = {}) { update(std::span(gradients), site); }

  [[nodiscard]] const std::vector<Variable>& parameters() const noexcept { return parameters_; }
  // How many updates there were, as an i64 variable of one element.
  [[nodiscard]] const Variable& step() const noexcept { return step_; }
  // For checkpoints: the step and all state, by name.
  template <class Visit>
  void each_member(Visit&& visit) const {
    visit("step", step_);
    visit("master", masters_);
    visit("state", state_);
  }

 protected:
  // The row and its attributes are as exec/optimizer_attributes.h says.
  Optimizer(std::vector<Variable> parameters, LearningRate rate, const OpRow& row, const Attributes& attributes,
            std::size_t states_each, Site site);
  ~Optimizer() = default;

 private:
  // In f32 or f64: the parameter itself, or its copy. Of distinct_, as all below.
  [[nodiscard]] const Variable& followed(std::size_t i) const { return masters_[i] ? *masters_[i] : parameters_[distinct_[i]]; }
  void update_together(std::span<const Tensor> gradients, std::size_t begin, std::size_t end, const Tensor& rate,
                       const Tensor& number, Site site);

  std::vector<Variable> parameters_;
  std::vector<std::size_t> distinct_;             // of these: one that is there again has the same gradient, and is updated once
  std::vector<std::optional<Variable>> masters_;  // of half precision
  std::vector<Variable> state_;
  std::vector<std::size_t> ends_;  // of the parameters that are updated by one op
  const OpRow& row_;
  Attributes attributes_;
  std::size_t states_each_;
  Variable step_;
  Schedule schedule_;
  std::optional<Variable> rate_;  // where it never changes
};

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
};
// Against the gradient, or a running sum of it: v = momentum v + gradient, value -= rate v; by Nesterov's form v is looked at one
// step ahead.
class Sgd final : public Optimizer {
 public:
  Sgd(std::vector<Variable> parameters, LearningRate rate, const SgdOptions& options = {}, Site site = {});
};

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decouple_decay = false;  // AdamW: the decay is taken off the value, not added to the gradient
};
// By running means of the gradient and of its square, both without what their zeros at the beginning took off.
class Adam final : public Optimizer {
 public:
  Adam(std::vector<Variable> parameters, LearningRate rate = 1e-3, const AdamOptions& options = {}, Site site = {});
};
// Adam with decoupled weight decay.
struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
};
inline AdamOptions adamw(const AdamWOptions& options = {}) {
  return {options.beta1, options.beta2, options.epsilon, options.weight_decay, true};
}

}  // namespace tutti
