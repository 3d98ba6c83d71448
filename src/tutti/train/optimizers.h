// Optimizers: how variables follow their gradients. Their state, the number of the step and the learning rate are on the device:
// an update is ops and assignments, and waits for nothing.
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
  LearningRate(double rate) : schedule(constant_rate(rate)) {}
  LearningRate(Schedule given) : schedule(std::move(given)) {}
  Schedule schedule;
};

// The gradients scaled so that the root of the sum of all their squares is at most this.
std::vector<Tensor> clip_by_global_norm(std::span<const Tensor> gradients, double most, Site site = {});

// What optimizers have in common. Parameters of half precision have a copy in f32 that follows the gradients, and take its value.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One step. As many gradients as parameters, in their order, each of its shape.
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
  Optimizer(std::vector<Variable> parameters, LearningRate rate, std::size_t states_each, Site site);
  // The change of one parameter, in f32 or f64, with its own state variables.
  struct Parameter {
    Tensor value;
    Tensor gradient;
    Tensor rate;
    Tensor step;  // from 1, f32
    std::span<const Variable> state;
  };
  // The new value.
  [[nodiscard]] virtual Tensor moved(const Parameter& parameter, Site site) = 0;

 private:
  std::vector<Variable> parameters_;
  std::vector<std::optional<Variable>> masters_;  // of half precision
  std::vector<Variable> state_;
  std::size_t states_each_;
  Variable step_;
  LearningRate rate_;
};

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
};
class Sgd final : public Optimizer {
 public:
  Sgd(std::vector<Variable> parameters, LearningRate rate, const SgdOptions& options = {}, Site site = {});

 private:
  Tensor moved(const Parameter& parameter, Site site) override;
  SgdOptions options_;
};

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decouple_decay = false;  // AdamW: the decay is taken off the value, not added to the gradient
};
class Adam final : public Optimizer {
 public:
  Adam(std::vector<Variable> parameters, LearningRate rate = 1e-3, const AdamOptions& options = {}, Site site = {});

 private:
  Tensor moved(const Parameter& parameter, Site site) override;
  AdamOptions options_;
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
