// Small problems for tests of fit, always the same.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::testing_fit {

inline constexpr Verbosity quiet = Verbosity::quiet;

struct Net {
  Dense hidden{2, 16};
  Dense out{16, 3};
  [[nodiscard]] Tensor operator()(const Tensor& x) const { return out(relu(hidden(x))); }
};

struct DroppingNet {
  Dense hidden{2, 16};
  Dropout drop{0.3};
  BatchNorm norm{16};
  Dense out{16, 3};
  [[nodiscard]] Tensor operator()(const Tensor& x) const { return out(drop(norm(relu(hidden(x))))); }
};

// Points, and which of three regions each is in.
inline std::tuple<Tensor, Tensor> regions(std::int64_t examples, std::uint64_t key = 5) {
  const DeviceScope here("CPU:0");
  const Tensor x = normal({examples, 2}, {.key = key});
  return {x, argmax(matmul(x, constant({{1.F, -1.F, 0.F}, {0.F, 1.F, -1.F}})), 1)};
}

inline CompileOptions classifier(OptimizerOf optimizer = sgd(0.1)) {
  return {.optimizer = std::move(optimizer), .loss = cross_entropy, .metrics = {accuracy()}};
}

template <class Net>
std::vector<std::vector<float>> weights_of(const Net& net) {
  std::vector<std::vector<float>> out;
  for (const auto& [name, variable] : named_variables(net)) out.push_back(read<float>(variable.value()));
  return out;
}

}  // namespace tutti::testing_fit
