// The attributes of the steps of optimizers, shared by the classes that fill them and the kernels that read them. The operands of
// such a step are, for each parameter: value, gradient, states; then the learning rate (f32) and the number of the step (i64,
// from 1), one element each. Its results are, for each parameter: the new value, the new states.
#pragma once

#include <cstddef>

namespace tutti {

struct GradientDescentAttributes {
  double momentum = 0;  // 0: there are no states; otherwise one, the velocity
  double weight_decay = 0;
  bool nesterov = false;

  [[nodiscard]] constexpr std::size_t states() const noexcept { return momentum != 0 ? 1 : 0; }
};

// Two states: running means of the gradient and of its square.
struct AdamAttributes {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decouple_decay = false;

  [[nodiscard]] static constexpr std::size_t states() noexcept { return 2; }
};

}  // namespace tutti
