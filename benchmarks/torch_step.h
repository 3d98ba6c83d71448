// The training step of training_step.h by libtorch: eager, with autograd and its optimizers.
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "training_step.h"

namespace bench {

inline torch::Tensor theirs(const tutti::Tensor& x) {
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < x.rank(); ++i) shape.push_back(x.shape()[i]);
  if (x.dtype() == tutti::DType::i64) {
    std::vector<std::int64_t> values = tutti::read<std::int64_t>(x);
    return torch::from_blob(values.data(), shape, torch::kLong).clone();
  }
  std::vector<float> values = tutti::read<float>(x);
  return torch::from_blob(values.data(), shape).clone();
}

class TorchStep {
 public:
  TorchStep(const Network& network, const StepData& data, bool is_adam = false)
      : layers_{layer(network.first), layer(network.second), layer(network.third)},
        x_(theirs(data.x)),
        labels_(theirs(data.labels)) {
    if (is_adam) {
      optimizer_ = std::make_unique<torch::optim::Adam>(parameters(), torch::optim::AdamOptions(step_rate));
    } else {
      optimizer_ = std::make_unique<torch::optim::SGD>(parameters(), torch::optim::SGDOptions(step_rate));
    }
  }
  torch::Tensor operator()() { return step(x_, labels_); }
  // The mean loss over its examples.
  double epoch(std::int64_t batch) {
    double out = 0;
    for (std::int64_t begin = 0; begin < x_.size(0); begin += batch) {
      const std::int64_t end = std::min(begin + batch, x_.size(0));
      const torch::Tensor loss = step(x_.slice(0, begin, end), labels_.slice(0, begin, end));
      out += loss.item<double>() * static_cast<double>(end - begin);
    }
    return out / static_cast<double>(x_.size(0));
  }
  [[nodiscard]] torch::Tensor weight(std::size_t i) const { return layers_[i]->weight.detach().t().contiguous(); }

 private:
  torch::Tensor step(const torch::Tensor& x, const torch::Tensor& labels) {
    optimizer_->zero_grad();
    const torch::Tensor logits = layers_[2]->forward(torch::relu(layers_[1]->forward(torch::relu(layers_[0]->forward(x)))));
    torch::Tensor loss = torch::nn::functional::cross_entropy(logits, labels);
    loss.backward();
    optimizer_->step();
    return loss;
  }
  static torch::nn::Linear layer(const tutti::Dense& dense) {
    torch::nn::Linear out(dense.weight.shape()[0], dense.weight.shape()[1]);
    const torch::NoGradGuard no_grad;
    out->weight.copy_(theirs(dense.weight.value()).t());
    out->bias.copy_(theirs(dense.bias->value()));
    return out;
  }
  [[nodiscard]] std::vector<torch::Tensor> parameters() const {
    std::vector<torch::Tensor> out;
    for (const auto& each : layers_) {
      out.push_back(each->weight);
      out.push_back(each->bias);
    }
    return out;
  }

  std::array<torch::nn::Linear, 3> layers_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  torch::Tensor x_;
  torch::Tensor labels_;
};

}  // namespace bench
