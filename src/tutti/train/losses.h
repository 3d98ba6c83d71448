// How far predictions are from what they should be: one number, the mean over all of them.
#pragma once

#include "tutti/ops/neural.h"

namespace tutti {

// The means of (prediction - target)^2 and |prediction - target|. The shapes must be equal: a broadcast is nearly always a
// mistake.
Tensor mse_loss(const Tensor& prediction, const Tensor& target, Site site = {});
Tensor mae_loss(const Tensor& prediction, const Tensor& target, Site site = {});

// Of classes given as probabilities, (batch, classes); for labels that are whole numbers see cross_entropy().
Tensor dense_cross_entropy(const Tensor& logits, const Tensor& probabilities, Site site = {});
// Of labels, with so much of the probability shared by all classes.
Tensor smoothed_cross_entropy(const Tensor& logits, const Tensor& labels, double smoothing, Site site = {});
// Of yes-or-no questions, from logits; targets are 0 to 1, of the logits' shape.
Tensor binary_cross_entropy(const Tensor& logits, const Tensor& targets, Site site = {});

}  // namespace tutti
