// Training in bfloat16: what must add up small steps is kept in float32.
#include <gtest/gtest.h>

#include <cmath>

#include "tutti/tutti.h"

namespace tutti {

namespace {

float as_float(const Tensor& x) { return item<float>(cast(x, DType::f32)); }

TEST(HalfPrecision, RunningStatisticsAddUpStepsBelowHalfAnUlp) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const BatchNorm norm(1, {.momentum = 0.001, .dtype = dtype});
    const BatchNorm exact(1, {.momentum = 0.001});
    for (std::uint64_t i = 0; i < 400; ++i) {
      const Tensor x = normal({64, 1}, {.key = i, .mean = 5, .stddev = 3});
      (void)norm(cast(x, dtype));
      (void)exact(x);
    }
    EXPECT_NEAR(as_float(sum(norm.running_mean)), as_float(sum(exact.running_mean)), 0.02) << to_string(dtype);
    EXPECT_NEAR(as_float(sum(norm.running_var)), as_float(sum(exact.running_var)), 0.05) << to_string(dtype);
    const Evaluation after_training;
    const Tensor x = normal({64, 1}, {.key = 1000, .mean = 5, .stddev = 3});
    const Tensor found = norm(cast(x, dtype));
    EXPECT_EQ(found.dtype(), dtype);
    EXPECT_LT(as_float(max(abs(cast(found, DType::f32) - exact(x)))), 0.1);
  }
}

TEST(HalfPrecision, AdamMovesAMasterThatTheParameterIsARoundingOf) {
  const Variable x(full({3}, 1.5, DType::bf16));
  const Variable exact(full({3}, 1.5));
  Adam half({x}, 1e-4);
  Adam single({exact}, 1e-4);
  for (int i = 0; i < 300; ++i) {
    const Tensor slope = constant({1.F, 0.5F, 2.F});
    half.update({cast(slope, DType::bf16)});
    single.update({slope});
  }
  EXPECT_TRUE(item<bool>(all(equal(x.value(), cast(exact.value(), DType::bf16)))))
      << PrintedTensor(x.value()) << " and " << PrintedTensor(exact.value());
  EXPECT_LT(as_float(max(x.value())), 1.48F) << "a step of 1e-4 is below half an ulp of 1.5";
}

struct HalfNet {
  Dense hidden{4, 32, {.dtype = DType::bf16}};
  BatchNorm norm{32, {.dtype = DType::bf16}};
  Dense out{32, 3, {.dtype = DType::bf16}};
  [[nodiscard]] Tensor operator()(const Tensor& x) const { return out(relu(norm(hidden(x)))); }
};

TEST(HalfPrecision, ASmallNetworkLearns) {
  set_seed(3);
  const HalfNet net;
  Adam optimizer(parameters(net), 0.01);
  const Tensor x = normal({512, 4});
  const Tensor labels = argmax(matmul(x, normal({4, 3})), 1);
  const Tensor half = cast(x, DType::bf16);
  for (int i = 0; i < 150; ++i) {
    const auto [loss, grads] =
        value_and_grad([&](const HalfNet& n) { return cross_entropy(cast(n(half), DType::f32), labels); })(net);
    for (const Tensor& slope : grads) ASSERT_EQ(slope.dtype(), DType::bf16);
    optimizer.update(grads);
  }
  const Evaluation after_training;
  const Tensor right = equal(argmax(net(half), 1), labels);
  EXPECT_GT(item<float>(mean(cast(right, DType::f32))), 0.95F);
}

}  // namespace

}  // namespace tutti
