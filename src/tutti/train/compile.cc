#include "tutti/train/compile.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/ops/comparison.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/reduction.h"
#include "tutti/train/losses.h"

namespace tutti {

OptimizerOf sgd(LearningRate rate, const SgdOptions& options) {
  return [rate = std::move(rate), options](std::vector<Variable> parameters, Site site) {
    return std::make_shared<Sgd>(std::move(parameters), rate, options, site);
  };
}

OptimizerOf adam(LearningRate rate, const AdamOptions& options) {
  return [rate = std::move(rate), options](std::vector<Variable> parameters, Site site) {
    return std::make_shared<Adam>(std::move(parameters), rate, options, site);
  };
}

Metric accuracy() {
  return {"accuracy", [](const Tensor& outputs, const Tensor& labels) {
            if (outputs.rank() != labels.rank() + 1) {
              throw ShapeError(
                  text("accuracy: outputs (batch, classes, ...) belong to labels without the axis of classes; they have ",
                       to_string(outputs.shape()), " and ", to_string(labels.shape())),
                  Site());
            }
            return equal(argmax(outputs, outputs.rank() > 1 ? 1 : 0), labels);
          }};
}

Metric binary_accuracy() {
  return {"binary_accuracy", [](const Tensor& logits, const Tensor& targets) {
            if (!(logits.shape() == targets.shape())) {
              throw ShapeError(text("binary_accuracy: logits and targets must have one shape; they have ",
                                    to_string(logits.shape()), " and ", to_string(targets.shape())),
                               Site());
            }
            return equal(greater(logits, 0), greater(cast(targets, DType::f32), 0.5));
          }};
}

Metric mean_absolute_error() {
  return {"mean_absolute_error", [](const Tensor& outputs, const Tensor& targets) { return mae_loss(outputs, targets); }};
}

}  // namespace tutti
