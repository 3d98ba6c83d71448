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

TEST(HalfPrecision, BatchNormTakesActivationsWhoseSquaresOverflow) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const BatchNorm norm(2, {.dtype = dtype});
    const BatchNorm exact(2);
    const Tensor x = cast(normal({64, 2, 8, 8}, {.key = 1, .stddev = 1000}), dtype);
    const Tensor wide = cast(x, DType::f32);
    const Tensor weights = normal(x.shape(), {.key = 2});
    const auto loss = [&](const BatchNorm& layer, const Tensor& y) { return sum(cast(layer(y), DType::f32) * weights); };
    const auto found = value_and_grad<0, 1>(loss)(norm, x);
    const auto expected = value_and_grad<0, 1>(loss)(exact, wide);
    const auto expect_near = [&](const Tensor& half, const Tensor& single, double rtol) {
      const Tensor most = max(abs(single)) * rtol;
      EXPECT_LE(as_float(max(abs(cast(half, DType::f32) - single))), as_float(most)) << to_string(dtype);
    };
    const double ulp = dtype == DType::f16 ? 0x1p-10 : 0x1p-7;
    const Tensor y = norm(x);
    EXPECT_EQ(y.dtype(), dtype);
    expect_near(y, exact(wide), ulp);
    for (std::size_t i = 0; i < 2; ++i) expect_near(std::get<0>(found.grads)[i], std::get<0>(expected.grads)[i], 2 * ulp);
    expect_near(std::get<1>(found.grads), std::get<1>(expected.grads), 2 * ulp);
    expect_near(norm.running_mean, exact.running_mean, 1e-5);
    expect_near(norm.running_var, exact.running_var, 1e-5);
    const Evaluation after_training;
    EXPECT_EQ(norm(x).dtype(), dtype);
    expect_near(norm(x), exact(wide), ulp);
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
