// First values of variables: as wide as the papers have them, whatever the kernel's axes.
#include <gtest/gtest.h>

#include <cmath>

#include "tutti/tutti.h"

namespace tutti {

namespace {

struct Kernel {
  Shape shape;
  double inputs, outputs;
};
// (inputs, outputs) of a matrix, (outputs, inputs, window ...) of others.
const std::vector<Kernel> kernels{{{300, 200}, 300, 200}, {{64, 16, 5, 3}, 16 * 15, 64 * 15}, {{90, 30, 9}, 30 * 9, 90 * 9}};

double as_double(const Tensor& x) { return item<double>(cast(x, DType::f64)); }

TEST(Initializers, GlorotUniformStaysWithinItsBoundsAndFillsThem) {
  set_seed(1);
  for (const Kernel& kernel : kernels) {
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      const Tensor x = glorot_uniform(kernel.shape, dtype, {});
      const double limit = std::sqrt(6 / (kernel.inputs + kernel.outputs));
      ASSERT_EQ(x.shape(), kernel.shape);
      EXPECT_EQ(x.dtype(), dtype);
      EXPECT_LE(as_double(max(abs(x))), limit * (dtype == DType::bf16 ? 1.004 : 1)) << to_string(kernel.shape);
      EXPECT_GT(as_double(max(x)), 0.98 * limit);
      EXPECT_LT(as_double(min(x)), -0.98 * limit);
      const Tensor wide = cast(x, DType::f64);
      EXPECT_NEAR(as_double(mean(wide)), 0, 0.02 * limit);
      EXPECT_NEAR(as_double(var(wide)), limit * limit / 3, 0.05 * limit * limit);
    }
  }
}

TEST(Initializers, HeNormalHasTheVarianceOfItsInputs) {
  set_seed(2);
  for (const Kernel& kernel : kernels) {
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      const Tensor x = cast(he_normal(kernel.shape, dtype, {}), DType::f64);
      const double variance = 2 / kernel.inputs;
      EXPECT_NEAR(as_double(mean(x)), 0, 0.03 * std::sqrt(variance)) << to_string(kernel.shape);
      EXPECT_NEAR(as_double(var(x)), variance, 0.05 * variance);
      EXPECT_NEAR(as_double(mean(square(square(x)))), 3 * variance * variance, 0.5 * variance * variance) << "it is normal";
    }
  }
}

TEST(Initializers, OfNumbersAndNormals) {
  set_seed(3);
  EXPECT_EQ(as_double(sum(ones_initializer({3, 4}, DType::f32, {}))), 12);
  EXPECT_EQ(as_double(sum(abs(zeros_initializer({3, 4}, DType::f16, {})))), 0);
  EXPECT_NEAR(as_double(std(normal_initializer(0.5)({200, 100}, DType::f32, {}))), 0.5, 0.02);
}

TEST(Initializers, AreTakenByLayers) {
  const Embedding table(50, 40, {.weights = ones_initializer, .dtype = DType::f64});
  EXPECT_EQ(table.weight.dtype(), DType::f64);
  EXPECT_EQ(as_double(sum(table.weight)), 2000);
  EXPECT_NEAR(as_double(std(Embedding(500, 40).weight)), 0.02, 0.002);
  EXPECT_EQ(as_double(sum(Dense(3, 4, {.weights = ones_initializer}).weight)), 12);
  EXPECT_EQ(as_double(sum(Conv2D(2, 4, 3, {.weights = ones_initializer}).weight)), 72);
}

}  // namespace

}  // namespace tutti
