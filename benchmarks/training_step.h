// One training step of a network of three layers, cross-entropy and plain gradient descent: through gradients and an optimizer,
// and written out with ops. Both begin with the same values.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "tutti/tutti.h"

namespace bench {

struct StepSize {
  std::int64_t batch;
  std::array<std::int64_t, 4> widths;
};
inline constexpr StepSize small_step{64, {256, 512, 512, 10}};
inline constexpr StepSize large_step{4096, {1024, 4096, 4096, 1000}};
inline constexpr double step_rate = 0.01;

struct StepData {
  explicit StepData(const StepSize& size, std::uint64_t key)
      : x(tutti::normal({size.batch, size.widths[0]}, {.key = key})),
        labels(tutti::randint({size.batch}, 0, size.widths[3], {.key = key + 1})) {}
  StepData(tutti::Tensor rows, tutti::Tensor right) : x(std::move(rows)), labels(std::move(right)) {}
  tutti::Tensor x;
  tutti::Tensor labels;
};

struct Network {
  explicit Network(const std::array<std::int64_t, 4>& widths)
      : first(widths[0], widths[1]), second(widths[1], widths[2]), third(widths[2], widths[3]) {}
  tutti::Tensor operator()(const tutti::Tensor& x) const { return third(tutti::relu(second(tutti::relu(first(x))))); }
  template <class Visit>
  void each_member(Visit&& visit) const {
    visit("first", first);
    visit("second", second);
    visit("third", third);
  }
  tutti::Dense first;
  tutti::Dense second;
  tutti::Dense third;
};

class StepThroughGradients {
 public:
  explicit StepThroughGradients(const Network& network) : network_(network), optimizer_(tutti::parameters(network), step_rate) {}
  tutti::Tensor operator()(const StepData& data) {
    auto [loss, gradients] = tutti::value_and_grad(
        [&](const Network& network) { return tutti::cross_entropy(network(data.x), data.labels); })(network_);
    optimizer_.update(gradients);
    return loss;
  }
  [[nodiscard]] const Network& network() const { return network_; }

 private:
  Network network_;
  tutti::Sgd optimizer_;
};

class StepByHand {
 public:
  explicit StepByHand(const Network& network)
      : weights_{copy_of(network.first.weight), copy_of(network.second.weight), copy_of(network.third.weight)},
        biases_{copy_of(*network.first.bias), copy_of(*network.second.bias), copy_of(*network.third.bias)} {}
  tutti::Tensor operator()(const StepData& data) {
    auto [loss, of_weights, of_biases] = gradients(data);
    for (std::size_t i = 0; i < 3; ++i) {
      weights_[i].assign_add(std::move(of_weights[i]) * -step_rate);
      biases_[i].assign_add(std::move(of_biases[i]) * -step_rate);
    }
    return loss;
  }
  [[nodiscard]] const tutti::Variable& weight(std::size_t i) const { return weights_[i]; }

 private:
  using Three = std::array<tutti::Tensor, 3>;
  struct Gradients {
    tutti::Tensor loss;
    Three of_weights;
    Three of_biases;
  };
  static tutti::Variable copy_of(const tutti::Variable& variable) { return tutti::Variable(variable.value()); }

  // No value of a variable outlives it, so that updates are in place.
  [[nodiscard]] Gradients gradients(const StepData& data) const {
    Three inputs{data.x, {}, {}};
    Three values;
    tutti::Tensor logits;
    for (std::size_t i = 0; i < 3; ++i) {
      values[i] = weights_[i].value();
      tutti::Tensor sum = tutti::matmul(inputs[i], values[i]) + biases_[i].value();
      if (i < 2) {
        inputs[i + 1] = tutti::relu(std::move(sum));
      } else {
        logits = std::move(sum);
      }
    }
    Gradients out{.loss = tutti::cross_entropy(logits, data.labels), .of_weights = {}, .of_biases = {}};
    const auto batch = static_cast<double>(logits.shape()[0]);
    tutti::Tensor back = (tutti::softmax(logits) - tutti::one_hot(data.labels, logits.shape()[1])) * (1 / batch);
    logits = {};
    for (std::size_t i = 3; i-- > 0;) {
      out.of_weights[i] = tutti::matmul(tutti::transpose(inputs[i]), back);
      out.of_biases[i] = tutti::sum(back, 0);
      if (i == 0) break;
      back = tutti::where(tutti::greater(inputs[i], 0), tutti::matmul(back, tutti::transpose(values[i])), 0);
      inputs[i] = {};
      values[i] = {};
    }
    return out;
  }

  std::array<tutti::Variable, 3> weights_;
  std::array<tutti::Variable, 3> biases_;
};

}  // namespace bench
