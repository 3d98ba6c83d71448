// A small network learns which of three regions a point is in. The host waits once, at the end.
#include <tutti/tutti.h>

#include <iostream>

namespace tt = tutti;

struct Net {
  tt::Dense hidden{2, 32};
  tt::Dense out{32, 3};
  tt::Tensor operator()(const tt::Tensor& x) const { return out(tt::relu(hidden(x))); }
};

int main() {
  tt::set_seed(1);
  const tt::Tensor x = tt::normal({512, 2});
  const tt::Tensor labels = tt::argmax(tt::matmul(x, tt::constant({{1.f, -1.f, 0.f}, {0.f, 1.f, -1.f}})), 1);

  const Net net;
  tt::Adam optimizer(tt::parameters(net), 0.02);
  const auto loss_of = [&](const Net& model) { return tt::cross_entropy(model(x), labels); };
  for (int step = 0; step < 200; ++step) {
    const auto [loss, grads] = tt::value_and_grad(loss_of)(net);
    optimizer.update(grads);  // returns at once, like everything above
  }
  const auto waits = tt::sync_counts().demand;
  const tt::Tensor right = tt::equal(tt::argmax(net(x), 1), labels);
  const float accuracy = tt::item<float>(tt::mean(tt::cast(right, tt::DType::f32)));
  std::cout << "more than 95 of 100 are right: " << (accuracy > 0.95f ? "yes" : "no") << '\n';
  std::cout << "host waits in 200 steps: " << waits << '\n';
}
