// What one step of an optimizer does to one element, written once for every backend. T is float or double.
#pragma once

#include <cmath>

#include "tutti/exec/optimizer_attributes.h"

#ifdef __CUDACC__
#define TUTTI_ON_DEVICE __host__ __device__ __forceinline__
#else
#define TUTTI_ON_DEVICE inline
#endif

namespace tutti {

template <class T>
struct GradientDescentStep {
  static constexpr int most_states = 1;
  T rate;
  T momentum;
  T weight_decay;
  bool nesterov;

  TUTTI_ON_DEVICE GradientDescentStep(const GradientDescentAttributes& given, double rate_, double /*step*/)
      : rate(static_cast<T>(rate_)),
        momentum(static_cast<T>(given.momentum)),
        weight_decay(static_cast<T>(given.weight_decay)),
        nesterov(given.nesterov) {}
  // `velocity` is read and written where there is a momentum.
  TUTTI_ON_DEVICE T operator()(T value, T gradient, T* velocity) const {
    if (weight_decay != 0) gradient += value * weight_decay;
    if (momentum != 0) {
      *velocity = *velocity * momentum + gradient;
      gradient = nesterov ? gradient + *velocity * momentum : *velocity;
    }
    return value - gradient * rate;
  }
};

template <class T>
struct AdamStep {
  static constexpr int most_states = 2;
  T beta1, beta2, epsilon, rate, share2, added_decay, kept;

  // What the zeros at the beginning took off the means is given back.
  TUTTI_ON_DEVICE AdamStep(const AdamAttributes& given, double rate_, double step)
      : beta1(static_cast<T>(given.beta1)),
        beta2(static_cast<T>(given.beta2)),
        epsilon(static_cast<T>(given.epsilon)),
        rate(static_cast<T>(rate_ / (1 - std::pow(given.beta1, step)))),
        share2(static_cast<T>(1 / (1 - std::pow(given.beta2, step)))),
        added_decay(static_cast<T>(given.decouple_decay ? 0 : given.weight_decay)),
        kept(static_cast<T>(given.decouple_decay ? 1 - rate_ * given.weight_decay : 1)) {}
  TUTTI_ON_DEVICE T operator()(T value, T gradient, T* means) const {
    gradient += value * added_decay;
    means[0] = means[0] * beta1 + gradient * (1 - beta1);
    means[1] = means[1] * beta2 + gradient * gradient * (1 - beta2);
    return value * kept - means[0] / (std::sqrt(means[1] * share2) + epsilon) * rate;
  }
};

}  // namespace tutti

#undef TUTTI_ON_DEVICE
