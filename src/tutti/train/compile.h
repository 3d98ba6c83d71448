// How a model is to learn and be judged: an optimizer, a loss, metrics.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tutti/ops/neural.h"
#include "tutti/train/optimizers.h"

namespace tutti {

// Makes an optimizer of these parameters: compile() calls it.
using OptimizerOf = std::function<std::shared_ptr<Optimizer>(std::vector<Variable> parameters, Site site)>;
OptimizerOf sgd(LearningRate rate, const SgdOptions& options = {});
OptimizerOf adam(LearningRate rate = 1e-3, const AdamOptions& options = {});

// From what the model gave and what it should have given: one number, the mean over the batch. Any function of the two, or one
// of losses.h by its name: mse_loss, cross_entropy, ...
class Loss {
 public:
  using Function = std::function<Tensor(const Tensor& outputs, const Tensor& targets, Site site)>;

  Loss() = default;
  Loss(Tensor (*function)(const Tensor&, const Tensor&, Site)) : function_(function) {}
  Loss(Tensor (*function)(const Tensor&, const Tensor&, const CrossEntropyOptions&, Site))
      : function_([function](const Tensor& outputs, const Tensor& targets, Site site) {
          return function(outputs, targets, {}, site);
        }) {}
  template <class F>
    requires std::invocable<F&, const Tensor&, const Tensor&>
  Loss(F function)
      : function_([function = std::move(function)](const Tensor& outputs, const Tensor& targets, Site) {
          return Tensor(function(outputs, targets));
        }) {}

  [[nodiscard]] bool is_defined() const noexcept { return static_cast<bool>(function_); }
  [[nodiscard]] Tensor operator()(const Tensor& outputs, const Tensor& targets, Site site) const {
    return function_(outputs, targets, site);
  }

 private:
  Function function_;
};

// A number to watch. The function gives the mean over the batch, or values whose mean it is; batches count by their examples.
//   .metrics = {accuracy(), {"bias", [](const Tensor& outputs, const Tensor& targets) { return outputs - targets; }}}
struct Metric {
  std::string name;
  std::function<Tensor(const Tensor& outputs, const Tensor& targets)> function;
};
// How often the largest of the classes (axis 1 of the outputs) is the label.
Metric accuracy();
// How often the sign of a logit is that of a yes-or-no target (0 or 1).
Metric binary_accuracy();
Metric mean_absolute_error();

struct CompileOptions {
  OptimizerOf optimizer;
  Loss loss;
  std::vector<Metric> metrics = {};
};

}  // namespace tutti
