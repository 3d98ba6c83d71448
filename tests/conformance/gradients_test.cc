// The gradient of every function, against what small changes of its inputs change.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "conformance/backend.h"
#include "conformance/recorded_cases.h"
#include "tutti/tutti.h"

namespace tutti::conformance {

namespace {

std::vector<Tensor*> floats_of(Inputs& in) { return {&in.x, &in.y, &in.matrix, &in.line, &in.square, &in.images, &in.weight}; }

// All that a call gave as one number, every element with a weight of its own; undefined: nothing floating came of it.
Tensor loss_of(const Case& each, const Inputs& in) {
  set_seed(7);
  Tensor total;
  std::uint64_t key = 1000;
  for (const Tensor& result : each.call(in)) {
    ++key;
    if (!is_floating(result.dtype())) continue;
    const DeviceScope there(result.device());
    const Tensor weights = uniform(result.shape(), {.key = key, .low = 0.5, .high = 1.5, .dtype = result.dtype()});
    const Tensor part = cast(sum(result * weights), DType::f64);
    total = total.is_defined() ? total + copy_to(part, total.device()) : part;
  }
  return total;
}

struct Slope {
  std::vector<Tensor> gradients;
  double value = 0;
  bool is_defined = false;
};

Slope differentiated(const Case& each, Inputs& in) {
  Tape tape;
  std::vector<Tape::Wanted> wanted;
  for (Tensor* input : floats_of(in)) {
    tape.watch(*input);
    wanted.push_back({.tensor = input});
  }
  Tensor loss;
  {
    const Tape::Recording on(tape);
    loss = loss_of(each, in);
  }
  if (!loss.is_defined()) return {};
  return {tape.gradients(loss, wanted), item<double>(loss), true};
}

// Whether the loss changes with the inputs at all.
bool check(const Case& each, std::uint64_t key) {
  Inputs in(key, DType::f64);
  const Slope slope = differentiated(each, in);
  if (!slope.is_defined) return false;
  bool changes = false;
  constexpr double step = 1e-6;
  for (std::uint64_t direction = 1; direction <= 2; ++direction) {
    double expected = 0;
    std::vector<Tensor> along;
    const std::vector<Tensor*> floats = floats_of(in);
    for (std::size_t i = 0; i < floats.size(); ++i) {
      Tensor d = uniform(floats[i]->shape(), {.key = key * 100 + direction * 10 + i, .low = -1, .high = 1, .dtype = DType::f64});
      if (floats[i] == &in.square) d = d + transpose(d);  // stays symmetric
      along.push_back(d);
      expected += item<double>(sum(copy_to(slope.gradients[i], d.device()) * d));
    }
    const auto moved = [&](double by) {
      Inputs there(key, DType::f64);
      const std::vector<Tensor*> all = floats_of(there);
      for (std::size_t i = 0; i < all.size(); ++i) *all[i] = *all[i] + along[i] * by;
      return item<double>(loss_of(each, there));
    };
    const double found = (moved(step) - moved(-step)) / (2 * step);
    EXPECT_NEAR(expected, found, 2e-5 * (1 + std::abs(found))) << "key " << key << ", direction " << direction;
    changes = changes || std::abs(found) > 1e-3;
  }
  return changes;
}

const std::set<std::string_view> without_a_rule{"while_loop"};

class Gradients : public OnBackend {};

TEST_P(Gradients, OfEachFunctionAreWhatSmallChangesShow) {
  std::size_t changing = 0;
  for (const Case& each : cases_on(GetParam().type)) {
    SCOPED_TRACE(each.function);
    if (without_a_rule.contains(each.function)) {
      Inputs in(1, DType::f64);
      EXPECT_THROW(differentiated(each, in), NoGradient);
      continue;
    }
    EXPECT_NO_THROW(changing += check(each, 11) ? 1 : 0);
  }
  EXPECT_GT(changing, 130U);
}

TUTTI_ON_EVERY_BACKEND(Gradients);

}  // namespace

}  // namespace tutti::conformance
