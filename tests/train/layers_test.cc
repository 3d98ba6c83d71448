// Layers, losses and optimizers against the same worked out in double precision on the host.
#include <gtest/gtest.h>

#include <cmath>

#include "tutti/tutti.h"

namespace tutti {

namespace {

struct Net {
  Dense hidden{4, 8};
  Dense out{8, 3};
  [[nodiscard]] Tensor operator()(const Tensor& x) const { return out(relu(hidden(x))); }
};

TEST(Layers, HoldTheirVariablesByName) {
  const Net net;
  std::vector<std::string> names;
  for (const auto& [name, variable] : named_variables(net)) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"hidden.weight", "hidden.bias", "out.weight", "out.bias"}));
  const Sequential chain(
      Dense(4, 8), [](const Tensor& x) { return relu(x); }, Dropout{0.5}, BatchNorm(8));
  names.clear();
  for (const auto& [name, variable] : named_variables(chain)) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "3.weight", "3.bias", "3.running_mean", "3.running_var"}));
  EXPECT_EQ(parameters(chain).size(), 4U);
}

TEST(Layers, FrozenOnesKeepTheirValues) {
  const Net net;
  freeze(net.hidden);
  const auto [loss, grads] = value_and_grad([](const Net& n) { return sum(n(ones({2, 4}))); })(net);
  EXPECT_EQ(grads.size(), 2U);
  EXPECT_EQ(parameters(net).size(), 2U);
  freeze(net.hidden, false);
  EXPECT_EQ(parameters(net).size(), 4U);
  const BatchNorm norm(3);
  freeze(norm);
  EXPECT_EQ(parameters(norm).size(), 0U);
  const Tensor x = normal({8, 3}, {.key = 4, .mean = 7});
  const Tensor y = norm(x);
  EXPECT_EQ(read<float>(norm.running_mean), std::vector<float>(3, 0));
  EXPECT_EQ(read<float>(norm.running_var), std::vector<float>(3, 1));
  EXPECT_TRUE(item<bool>(allclose(y, x, {.rtol = 1e-4}))) << "it normalises by the statistics it has";
  freeze(norm, false);
  EXPECT_EQ(parameters(norm).size(), 2U) << "its statistics do not learn";
}

TEST(Layers, DenseTakesAnyLeadingAxesAndRefusesOtherWidths) {
  const Dense layer(4, 3);
  EXPECT_EQ(layer(ones({4})).shape(), (Shape{3}));
  EXPECT_EQ(layer(ones({2, 5, 4})).shape(), (Shape{2, 5, 3}));
  EXPECT_THROW((void)layer(ones({2, 5})), ShapeError);
}

TEST(Layers, BatchNormNormalisesABatchAndRemembersItsStatistics) {
  const BatchNorm norm(3);
  const Tensor x = normal({64, 3, 4, 4}, {.key = 2, .mean = 5, .stddev = 3});
  const Tensor y = norm(x);
  const std::vector<float> middle = read<float>(mean(y, {0, 2, 3}));
  const std::vector<float> spread = read<float>(var(y, {0, 2, 3}));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(middle[i], 0, 1e-4);
    EXPECT_NEAR(spread[i], 1, 1e-3);
  }
  EXPECT_NEAR(read<float>(norm.running_mean.value())[0], 0.5, 0.1);
  const Evaluation after_training;
  for (int i = 0; i < 3; ++i) (void)norm(x);
  EXPECT_NEAR(read<float>(norm.running_mean.value())[0], 0.5, 0.1) << "evaluation learns nothing";
}

TEST(Layers, DropoutDropsInTrainingAlone) {
  const Dropout layer{0.5};
  const Tensor x = ones({1000});
  EXPECT_NEAR(item<float>(mean(layer(x))), 1, 0.2);
  EXPECT_LT(item<std::int64_t>(count_nonzero(layer(x))), 700);
  const Evaluation after_training;
  EXPECT_EQ(item<std::int64_t>(count_nonzero(layer(x))), 1000);
}

TEST(Layers, ConvolutionAndEmbeddingTrain) {
  struct Images {
    Conv2D conv{1, 4, 3, {.padding = 1}};
    Dense out{4, 2};
    [[nodiscard]] Tensor operator()(const Tensor& x) const { return out(mean(max_pool2d(relu(conv(x)), 2), {2, 3})); }
  };
  const Images net;
  const auto [loss, grads] = value_and_grad([](const Images& n) {
    return cross_entropy(n(uniform({4, 1, 8, 8}, {.key = 8})), constant({0, 1, 0, 1}));
  })(net);
  ASSERT_EQ(grads.size(), 4U);
  EXPECT_GT(item<float>(sum(abs(grads[0]))), 0);
  const Embedding table(10, 3);
  const Tensor slope = grad([](const Embedding& e) { return sum(e(constant({1, 1, 4}))); })(table)[0];
  EXPECT_EQ(item<float>(sum(slope)), 9);
  EXPECT_EQ(item<float>(index(slope, {1, 0})), 2);
}

TEST(Attention, InStripsIsTheSameAndSoAreItsGradients) {
  const auto draw = [](std::uint64_t key) { return normal({2, 3, 20, 8}, {.key = key, .dtype = DType::f64}); };
  for (const bool causal : {false, true}) {
    const auto loss = [causal](std::int64_t chunk) {
      return [=](const Tensor& q, const Tensor& k, const Tensor& v) {
        return sum(square(scaled_dot_product_attention(q, k, v, {.causal = causal, .chunk = chunk})));
      };
    };
    const auto whole = value_and_grad<0, 1, 2>(loss(64))(draw(1), draw(2), draw(3));
    const auto strips = value_and_grad<0, 1, 2>(loss(7))(draw(1), draw(2), draw(3));
    EXPECT_NEAR(item<double>(whole.value), item<double>(strips.value), 1e-9);
    EXPECT_TRUE(item<bool>(allclose(std::get<0>(whole.grads), std::get<0>(strips.grads))));
    EXPECT_TRUE(item<bool>(allclose(std::get<1>(whole.grads), std::get<1>(strips.grads))));
    EXPECT_TRUE(item<bool>(allclose(std::get<2>(whole.grads), std::get<2>(strips.grads))));
  }
}

TEST(Attention, CausalSeesNothingOfWhatComesLater) {
  const Tensor x = normal({1, 6, 4}, {.key = 1});
  const Tensor other = at(x, {Range{}, Range{4, {}}}).set(0);
  const auto seen = [](const Tensor& y) { return slice(scaled_dot_product_attention(y, y, y, {.causal = true}), 1, {0, 4}); };
  EXPECT_TRUE(item<bool>(allclose(seen(x), seen(other))));
  const MultiHeadAttention layer(8, 2, {.causal = true});
  EXPECT_EQ(layer(ones({2, 5, 8})).shape(), (Shape{2, 5, 8}));
}

TEST(Attention, ALayerWithAMaskSeesNothingOfWhatItHides) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const bool causal : {false, true}) {
      const MultiHeadAttention layer(8, 2, {.causal = causal, .dtype = dtype});
      const Tensor x = normal({3, 6, 8}, {.key = 1, .dtype = dtype});
      const Tensor lengths = reshape(constant({6, 2, 4}), {3, 1, 1, 1});
      const Tensor mask = less(arange(6), lengths);
      const Tensor other = where(reshape(mask, {3, 6, 1}), x, 100);
      const Tensor whole = reshape(mask, {3, 6, 1});
      const auto seen = [&](const Tensor& y) { return where(whole, layer(y, mask), 0); };
      EXPECT_TRUE(item<bool>(all(equal(seen(x), seen(other))))) << to_string(dtype);
      const bool hides = !item<bool>(all(equal(seen(x), where(whole, layer(x), 0))));
      EXPECT_EQ(hides, !causal) << "in front of what is hidden a causal layer sees all it would see";
      EXPECT_TRUE(item<bool>(all(equal(layer(x, ones({6, 6}, DType::boolean)), layer(x)))));
      const Tensor slope = grad([&](const Tensor& y) { return sum(seen(y)); })(x);
      EXPECT_EQ(item<float>(cast(sum(abs(where(whole, 0, slope))), DType::f32)), 0);
      EXPECT_GT(item<float>(cast(sum(abs(slope)), DType::f32)), 0);
    }
  }
}

TEST(Attention, DropsInTrainingAlone) {
  const MultiHeadAttention dropping(8, 2, {.dropout = 0.5});
  MultiHeadAttention keeping = dropping;
  keeping.options.dropout = 0;
  const Tensor x = normal({2, 16, 8}, {.key = 1});
  const auto are_same = [](const Tensor& a, const Tensor& b) { return item<bool>(all(equal(a, b))); };
  EXPECT_FALSE(are_same(dropping(x), keeping(x)));
  EXPECT_FALSE(are_same(dropping(x), dropping(x)));
  const Evaluation after_training;
  EXPECT_TRUE(are_same(dropping(x), keeping(x)));
}

TEST(Losses, AreWhatTheirFormulasSay) {
  const Tensor logits = constant({{2.0, -1.0, 0.5}, {0.0, 3.0, -2.0}});
  const Tensor labels = constant({0, 1});
  const auto lse = [](double a, double b, double c) { return std::log(std::exp(a) + std::exp(b) + std::exp(c)); };
  const double first = lse(2, -1, 0.5) - 2;
  const double second = lse(0, 3, -2) - 3;
  const double sharp = (first + second) / 2;
  EXPECT_NEAR(item<double>(dense_cross_entropy(logits, one_hot(labels, 3, {.dtype = DType::f64}))), sharp, 1e-12);
  const double flat = (lse(2, -1, 0.5) - 0.5 + lse(0, 3, -2) - 1.0 / 3) / 2;
  EXPECT_NEAR(item<double>(smoothed_cross_entropy(logits, labels, 0.1)), 0.9 * sharp + 0.1 * flat, 1e-12);
  const Tensor x = constant({-800.0, 0.3, 700.0});
  const Tensor t = constant({0.0, 1.0, 1.0});
  EXPECT_NEAR(item<double>(binary_cross_entropy(x, t)), std::log1p(std::exp(-0.3)) / 3, 1e-12);
  EXPECT_NEAR(item<double>(mse_loss(constant({1.0, 3.0}), constant({2.0, 1.0}))), 2.5, 1e-12);
  EXPECT_NEAR(item<double>(mae_loss(constant({1.0, 3.0}), constant({2.0, 1.0}))), 1.5, 1e-12);
  EXPECT_THROW((void)mse_loss(ones({3, 1}), ones({3})), ShapeError);
}

TEST(Losses, OfYesOrNoQuestionsHaveTheSlopeOfTheirFormula) {
  const std::vector<double> all{0.0, -0.0, 1e-300, -1e-300, 1e-9, -1e-9, 0.7, -0.7, 30, -30, 800, -800};
  const auto count = static_cast<double>(all.size());
  const Tensor x = constant(std::span<const double>(all));
  for (const double target : {0.0, 0.25, 1.0}) {
    const auto loss = [&](const Tensor& y) { return binary_cross_entropy(y, full(y.shape(), target, y.dtype())); };
    const auto slopes = grad([&](const Tensor& y) { return loss(y) * count; });
    const std::vector<double> found = read<double>(slopes(x));
    const std::vector<double> second = read<double>(grad([&](const Tensor& y) { return sum(slopes(y)); })(x));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double chance = 1 / (1 + std::exp(-all[i]));
      EXPECT_NEAR(found[i], chance - target, 1e-15) << all[i] << " with " << target;
      EXPECT_NEAR(second[i], chance * (1 - chance), 1e-15) << all[i] << " with " << target;
    }
  }
  EXPECT_NEAR(item<double>(binary_cross_entropy(constant({50.0}), constant({1.0}))), std::exp(-50), 1e-30) << "not rounded away";
  EXPECT_NEAR(item<double>(binary_cross_entropy(constant({-50.0}), constant({0.0}))), std::exp(-50), 1e-30);
  const Variable weight(zeros({2, 1}));
  const Tensor first = grad([](const Variable& w) {
    return binary_cross_entropy(matmul(constant({{1.F, 2.F}, {3.F, -4.F}}), w), constant({{1.F}, {0.F}}));
  })(weight);
  EXPECT_EQ(read<float>(first), (std::vector<float>{0.5F, -1.5F})) << "the mean of x (1/2 - t)";
}

TEST(Losses, AndActivationsHaveFiniteSlopesAtZeroAndFarOut) {
  const auto slopes = [](const auto& function, const Tensor& at) {
    return read<float>(cast(grad([&](const Tensor& y) { return sum(function(y)); })(at), DType::f32));
  };
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const double far = dtype == DType::f16 ? 6e4 : 1e30;
    const Tensor x = cast(constant({0.0, -0.0, far, -far}), dtype);
    const std::vector<float> half_way{0.5F, 0.5F, 1, 0};
    EXPECT_EQ(slopes([](const Tensor& y) { return silu(y); }, x), half_way) << to_string(dtype);
    EXPECT_EQ(slopes([](const Tensor& y) { return gelu(y); }, x), half_way) << to_string(dtype);
    EXPECT_EQ(slopes([](const Tensor& y) { return gelu(y, {.form = GeluForm::by_tanh}); }, x), half_way) << to_string(dtype);
    EXPECT_EQ(slopes([](const Tensor& y) { return relu(y); }, x), (std::vector<float>{0, 0, 1, 0})) << to_string(dtype);
    EXPECT_EQ(slopes([](const Tensor& y) { return sigmoid(y); }, x), (std::vector<float>{0.25F, 0.25F, 0, 0}));
    EXPECT_EQ(slopes([](const Tensor& y) { return mae_loss(y, zeros_like(y)) * 4; }, x), (std::vector<float>{0, 0, 1, -1}));
  }
  const Tensor tied = constant({3.F, -1e30F});
  for (const float slope : slopes([&](const Tensor& y) { return logaddexp(y, tied); }, tied)) EXPECT_NEAR(slope, 0.5F, 1e-6);
  const Tensor same = zeros({1, 2});
  const std::vector<float> smoothed = slopes([](const Tensor& y) { return smoothed_cross_entropy(y, constant({0}), 0.5); }, same);
  EXPECT_NEAR(smoothed[0], 0.5 - 0.75, 1e-6);
  EXPECT_NEAR(smoothed[1], 0.5 - 0.25, 1e-6);
}

// Three steps on x^4 from x = 1.5, as the papers have them.
double after_three(Optimizer& optimizer, const Variable& x) {
  for (int i = 0; i < 3; ++i) {
    const SyncScope strict(OnSync::error);
    optimizer.update({grad([](const Variable& v) { return square(square(v)); })(x)});
  }
  return item<double>(x.value());
}

TEST(Optimizers, MoveAsTheirFormulasSay) {
  const auto slope = [](double x) { return 4 * x * x * x; };
  const auto start = [] { return Variable(constant(1.5)); };
  {
    const Variable x = start();
    Sgd plain({x}, 0.01);
    double expected = 1.5;
    for (int i = 0; i < 3; ++i) expected -= 0.01 * slope(expected);
    EXPECT_NEAR(after_three(plain, x), expected, 1e-7);
    EXPECT_EQ(item<std::int64_t>(plain.step().value()), 3);
  }
  for (const bool nesterov : {false, true}) {
    const Variable x = start();
    Sgd heavy({x}, 0.01, {.momentum = 0.9, .nesterov = nesterov, .weight_decay = 0.1});
    double expected = 1.5;
    double velocity = 0;
    for (int i = 0; i < 3; ++i) {
      const double g = slope(expected) + 0.1 * expected;
      velocity = 0.9 * velocity + g;
      expected -= 0.01 * (nesterov ? g + 0.9 * velocity : velocity);
    }
    EXPECT_NEAR(after_three(heavy, x), expected, 1e-7);
  }
  for (const bool decoupled : {false, true}) {
    const Variable x = start();
    Adam adam({x}, 0.1, {.weight_decay = 0.2, .decouple_decay = decoupled});
    double expected = 1.5;
    double m = 0;
    double v = 0;
    for (int i = 1; i <= 3; ++i) {
      double g = slope(expected);
      if (decoupled) {
        expected *= 1 - 0.1 * 0.2;
      } else {
        g += 0.2 * expected;
      }
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      expected -= 0.1 * (m / (1 - std::pow(0.9, i))) / (std::sqrt(v / (1 - std::pow(0.999, i))) + 1e-8);
    }
    EXPECT_NEAR(after_three(adam, x), expected, 1e-5);
  }
}

// Tied weights are in a model twice, each with the whole gradient; large ones are not updated by one op.
TEST(Optimizers, MoveAVariableThatIsThereTwiceOnce) {
  for (const std::int64_t size : {1'000, 5'000'000}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Variable x(zeros({size}, dtype));
      const Variable y(zeros({3}));
      const Tensor ones_of_x = ones({size}, dtype);
      Sgd sgd({x, y, x}, 1.0, {.momentum = 0.5});
      for (int i = 0; i < 2; ++i) sgd.update({ones_of_x, ones({3}), ones_of_x});
      EXPECT_EQ(item<float>(cast(mean(x.value()), DType::f32)), -2.5F) << size << " " << to_string(dtype);
      EXPECT_EQ(item<float>(mean(y.value())), -2.5F);
    }
  }
}

TEST(Optimizers, ClipByTheNormOfAll) {
  const std::vector<Tensor> big{full({2}, 3.F), full({2}, 4.F)};
  const std::vector<Tensor> clipped = clip_by_global_norm(big, 1);
  EXPECT_NEAR(read<float>(clipped[0])[0], 3 / std::sqrt(50.0), 1e-5);
  EXPECT_EQ(read<float>(clip_by_global_norm(big, 100)[1])[0], 4);
}

TEST(Optimizers, FollowASchedule) {
  const Schedule rate = warmup_cosine(1, 4, 12);
  const auto at_step = [&](float step) { return item<float>(rate(constant(step))); };
  EXPECT_NEAR(at_step(0), 0, 1e-6);
  EXPECT_NEAR(at_step(2), 0.5, 1e-6);
  EXPECT_NEAR(at_step(8), 0.5, 1e-6);
  EXPECT_NEAR(at_step(12), 0, 1e-6);
  EXPECT_NEAR(item<float>(exponential_decay(1, 10, 0.5)(constant(25.F))), 0.25, 1e-6);
}

TEST(Optimizers, ParametersOfHalfPrecisionFollowACopyInF32) {
  const Variable x(full({1}, 1.0, DType::bf16));
  Sgd optimizer({x}, 1e-4);
  for (int i = 0; i < 100; ++i) optimizer.update({ones({1}, DType::bf16)});
  EXPECT_NEAR(item<float>(cast(sum(x.value()), DType::f32)), 0.99, 0.003) << "steps below half an ulp add up";
}

TEST(Training, AnMlpLearnsAndNeverWaits) {
  set_seed(3);
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Net net;
  Adam optimizer(parameters(net), 0.02);
  const Tensor x = normal({256, 4});
  const Tensor labels = argmax(matmul(x, normal({4, 3})), 1);
  Tensor first;
  Tensor last;
  {
    const SyncScope strict(OnSync::error);
    for (int i = 0; i < 60; ++i) {
      const auto [loss, grads] = value_and_grad([&](const Net& n) { return cross_entropy(n(x), labels); })(net);
      optimizer.update(grads);
      if (i == 0) first = loss;
      last = loss;
    }
  }
  EXPECT_LT(item<float>(last), 0.3F * item<float>(first));
}

}  // namespace

}  // namespace tutti
