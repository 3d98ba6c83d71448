#include "tutti/train/initializers.h"

#include <cmath>

#include "tutti/ops/creation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/random.h"
#include "tutti/ops/variable_cell.h"
#include "tutti/place/thread_state.h"
#include "tutti/train/parameters.h"

namespace tutti {

namespace {

struct Fan {
  double in = 1;
  double out = 1;
};
Fan fan_of(const Shape& shape) {
  if (shape.empty()) return {};
  if (shape.size() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  if (shape.size() == 2) return {static_cast<double>(shape[0]), static_cast<double>(shape[1])};
  double window = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) window *= static_cast<double>(shape[i]);
  return {static_cast<double>(shape[1]) * window, static_cast<double>(shape[0]) * window};
}

}  // namespace

Tensor zeros_initializer(const Shape& shape, DType dtype, Site site) { return zeros(shape, dtype, site); }
Tensor ones_initializer(const Shape& shape, DType dtype, Site site) { return ones(shape, dtype, site); }

Tensor glorot_uniform(const Shape& shape, DType dtype, Site site) {
  const Fan fan = fan_of(shape);
  const double limit = std::sqrt(6 / (fan.in + fan.out));
  return uniform(shape, {.low = -limit, .high = limit, .dtype = dtype}, site);
}

Tensor he_normal(const Shape& shape, DType dtype, Site site) {
  return normal_initializer(std::sqrt(2 / fan_of(shape).in))(shape, dtype, site);
}

Initializer normal_initializer(double deviation) {
  return [deviation](const Shape& shape, DType dtype, Site site) {
    return multiply(normal(shape, {.dtype = dtype}, site), deviation, site);
  };
}

void detail::set_frozen(const Variable& variable, bool frozen) { variable.cell()->set_frozen(frozen); }

Evaluation::Evaluation() noexcept : before_(std::exchange(detail::thread_state.settings.evaluates, true)) {}
Evaluation::~Evaluation() { detail::thread_state.settings.evaluates = before_; }
bool is_training() noexcept { return !detail::thread_state.settings.evaluates; }

}  // namespace tutti
