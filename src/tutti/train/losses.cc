#include "tutti/train/losses.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/math.h"
#include "tutti/ops/reduction.h"

namespace tutti {

namespace {

void expect_one_shape(const char* loss, const Tensor& a, const Tensor& b, Site site) {
  if (a.shape(site) == b.shape(site)) return;
  throw ShapeError(text(loss, ": prediction and target must have one shape; they have ", to_string(a.shape()), " and ",
                        to_string(b.shape()), ". Use reshape() or squeeze() where an axis of size 1 is too many"),
                   site);
}

}  // namespace

Tensor mse_loss(const Tensor& prediction, const Tensor& target, Site site) {
  expect_one_shape("mse_loss", prediction, target, site);
  return mean(square(subtract(prediction, target, site), site), site);
}

Tensor mae_loss(const Tensor& prediction, const Tensor& target, Site site) {
  expect_one_shape("mae_loss", prediction, target, site);
  return mean(abs(subtract(prediction, target, site), site), site);
}

Tensor dense_cross_entropy(const Tensor& logits, const Tensor& probabilities, Site site) {
  expect_one_shape("dense_cross_entropy", logits, probabilities, site);
  if (logits.rank() < 1) throw ShapeError("dense_cross_entropy: the logits need an axis of classes; they are a scalar", site);
  const Tensor each = sum(multiply(probabilities, log_softmax(logits, -1, site), site), -1, {}, site);
  return negative(mean(each, site), site);
}

Tensor smoothed_cross_entropy(const Tensor& logits, const Tensor& labels, double smoothing, Site site) {
  if (!(smoothing >= 0 && smoothing < 1))
    throw InvalidArgument(text("smoothed_cross_entropy: the smoothing must be at least 0 and below 1, not ", smoothing), site);
  Tensor sharp = cross_entropy(logits, labels, {}, site);
  if (smoothing == 0) return sharp;
  const Tensor flat = negative(mean(log_softmax(logits, logits.rank() > 1 ? 1 : 0, site), site), site);
  return add(multiply(sharp, 1 - smoothing, site), multiply(flat, smoothing, site), site);
}

// max(x, 0) - x t + log(1 + e^-|x|), which neither overflows nor loses small terms. -|x| is min(-x, x): of equal operands the
// first has the gradient, so at 0 both corners are those of positive x, and together have its slope.
Tensor binary_cross_entropy(const Tensor& logits, const Tensor& targets, Site site) {
  expect_one_shape("binary_cross_entropy", logits, targets, site);
  const Tensor tail = log1p(exp(minimum(negative(logits, site), logits, site), site), site);
  return mean(add(subtract(maximum(logits, 0, site), multiply(logits, targets, site), site), tail, site), site);
}

}  // namespace tutti
