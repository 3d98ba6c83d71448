// What a training step is made of: few calls, gradients of one op that say the same as several, optimizers that update many
// parameters at once.
#include <cmath>
#include <numbers>

#include "conformance/backend.h"
#include "conformance/recorder.h"

namespace tutti::conformance {

class TrainingSteps : public OnBackend {};
TUTTI_ON_EVERY_BACKEND(TrainingSteps);

namespace {

void expect_close(const Tensor& found, const Tensor& wanted, double tolerance, const std::string& what) {
  const std::vector<double> a = read<double>(cast(contiguous(found), DType::f64));
  const std::vector<double> b = read<double>(cast(contiguous(wanted), DType::f64));
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << what << ", element " << i;
}

struct Net {
  Dense first{6, 8};
  Dense second{8, 8};
  Dense third{8, 3};
  Tensor operator()(const Tensor& x) const { return third(relu(second(relu(first(x))))); }
};

struct CountKernels final : Executor {
  std::map<std::string, int> kernels;
  void run(OpCall& call) override {
    if (call.op.kind == OpKind::kernel) ++kernels[call.op.name];
    if (call.op.kind == OpKind::update && call.op.name == "AssignAddVariableOp") ++kernels[call.op.name];
    pass_on(call);
  }
};

}  // namespace

TEST_P(TrainingSteps, CallNoMoreThanTheyNeed) {
  const Net net;
  Sgd optimizer(parameters(net), 0.1);
  const Tensor x = uniform({4, 6}, {.key = 1});
  const Tensor labels = randint({4}, 0, 3, {.key = 2});
  CountKernels count;
  {
    const ExecutorScope on(count);
    const auto [loss, gradients] = value_and_grad([&](const Net& n) { return cross_entropy(n(x), labels); })(net);
    optimizer.update(gradients);
  }
  const std::map<std::string, int> wanted{{"FusedMatMul", 3},
                                          {"FusedMatMulGrad", 3},  // of weights and biases
                                          {"MatMul", 2},           // back, but not to x
                                          {"Relu", 2},
                                          {"ReluGrad", 2},
                                          {"SparseSoftmaxCrossEntropyWithLogits", 1},
                                          {"CrossEntropyMean", 1},
                                          {"Fill", 1},     // the loss changes by 1 with itself
                                          {"RealDiv", 1},  // by the number of labels
                                          {"SparseSoftmaxCrossEntropyGrad", 1},
                                          {"AssignAddVariableOp", 1},  // the number of the step
                                          {"ApplyGradientDescent", 1}};
  EXPECT_EQ(count.kernels, wanted);
}

// Short lines, lines of a whole block, and those that are cut into parts.
TEST_P(TrainingSteps, TheGradientOfCrossEntropyIsWhatItsPartsGive) {
  for (const std::int64_t classes : {1, 10, 1000, 4099, 70'000}) {
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      const std::int64_t lines = classes > 10'000 ? 3 : 37;
      const Tensor logits = uniform({lines, classes}, {.key = 3, .low = -4, .high = 4, .dtype = dtype});
      const Tensor labels = where(less(arange(lines), 2), -7, randint({lines}, 0, classes, {.key = 4}));
      const Tensor weights = uniform({lines}, {.key = 5, .dtype = dtype});
      const auto loss_of = [&](LossReduction reduction) {
        return [&, reduction](const Tensor& x) {
          const Tensor loss = cross_entropy(x, labels, {.reduction = reduction, .ignore_index = -7});
          return reduction == LossReduction::none ? sum(loss * weights) : loss;
        };
      };
      const Tensor wide = cast(logits, DType::f64);
      const Tensor hot = one_hot(maximum(labels, 0), classes, {.dtype = DType::f64});
      const Tensor counts = expand_dims(cast(not_equal(labels, -7), DType::f64), -1);
      const Tensor each = (softmax(wide) - hot) * counts;
      const double tolerance = dtype == DType::bf16 ? 0.02 : dtype == DType::f32 ? 1e-5 : 1e-12;
      const std::string what = std::string(to_string(dtype)) + " of " + std::to_string(classes);
      expect_close(grad(loss_of(LossReduction::none))(logits), each * expand_dims(cast(weights, DType::f64), -1), tolerance,
                   what);
      expect_close(grad(loss_of(LossReduction::sum))(logits), each, tolerance, what + ", added up");
      expect_close(grad(loss_of(LossReduction::mean))(logits), each / sum(counts), tolerance, what + ", mean");
    }
  }
}

TEST_P(TrainingSteps, TheGradientOfLayerNormIsOneOp) {
  const Tensor x = uniform({5, 6}, {.key = 1});
  const Tensor weight = uniform({6}, {.key = 2});
  const Tensor bias = uniform({6}, {.key = 3});
  CountKernels count;
  {
    const ExecutorScope on(count);
    (void)grad<0, 1, 2>([](const Tensor& y, const Tensor& w, const Tensor& b) { return sum(layer_norm(y, w, b)); })(x, weight,
                                                                                                                    bias);
  }
  const std::map<std::string, int> wanted{{"LayerNorm", 1}, {"Sum", 1}, {"Fill", 1}, {"LayerNormGrad", 1}};
  EXPECT_EQ(count.kernels, wanted);
}

namespace {

Tensor layer_norm_in_parts(const Tensor& x, const Tensor& weight, const Tensor& bias, const Dims& axes) {
  const Tensor centred = x - mean(x, axes, {.keepdims = true});
  const Tensor normal = centred / sqrt(mean(square(centred), axes, {.keepdims = true}) + 1e-5);
  return normal * weight + bias;
}

}  // namespace

// Lines of less than a vector, of less than a warp and of more than a block; fewer and more of them than are added up together.
TEST_P(TrainingSteps, TheGradientOfLayerNormIsWhatItsPartsGive) {
  const auto expect_gradients = [&](const Shape& shape, std::int64_t axes, DType dtype) {
    const Shape normalised(shape.view().last(static_cast<std::size_t>(axes)));
    const auto draw = [&](const Shape& of, std::uint64_t key) {
      return uniform(of, {.key = key, .low = -2, .high = 2, .dtype = dtype});
    };
    const Tensor factors = draw(shape, 13);
    const Tensor x = draw(shape, 10);
    const Tensor weight = draw(normalised, 11);
    const Tensor bias = draw(normalised, 12);
    const auto whole = [&](const Tensor& y, const Tensor& w, const Tensor& b) {
      return sum(layer_norm(y, w, b, {.axes = axes}) * factors);
    };
    const auto in_parts = [&](const Tensor& y, const Tensor& w, const Tensor& b) {
      Dims last;
      for (std::int64_t i = -axes; i < 0; ++i) last.push_back(i);
      return sum(layer_norm_in_parts(y, w, b, last) * cast(factors, DType::f64));
    };
    const auto [of_x, of_w, of_b] = grad<0, 1, 2>(whole)(x, weight, bias);
    const auto [wide_x, wide_w, wide_b] =
        grad<0, 1, 2>(in_parts)(cast(x, DType::f64), cast(weight, DType::f64), cast(bias, DType::f64));
    const double tolerance = dtype == DType::bf16 ? 0.05 : dtype == DType::f16 ? 0.01 : dtype == DType::f32 ? 5e-5 : 1e-6;
    const std::string what = std::string(to_string(dtype)) + " of " + to_string(shape);
    expect_close(of_x, wide_x, tolerance, what);
    expect_close(of_w, wide_w, tolerance, what + ", weight");
    expect_close(of_b, wide_b, tolerance, what + ", bias");
  };
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    for (const Shape& shape : {Shape{3, 2}, Shape{40, 7}, Shape{700, 33}, Shape{2, 3, 130}, Shape{1, 1500}, Shape{0, 4}})
      expect_gradients(shape, 1, dtype);
    expect_gradients({5, 3, 4}, 2, dtype);
    expect_gradients({9}, 1, dtype);
  }
  expect_gradients({3, 40'000}, 1, DType::f32);
}

TEST_P(TrainingSteps, TheGradientOfLayerNormTakesAnyLayoutAndNoWeight) {
  const Tensor x = transpose(uniform({6, 50}, {.key = 1, .dtype = DType::f64}));
  const Tensor one = broadcast_to(constant({2.0}), {6});
  const auto plain = [](const Tensor& y) { return sum(square(layer_norm(y)) * y); };
  const auto with_weight = [&](const Tensor& y) { return sum(square(layer_norm(y, one / 2)) * y); };
  const auto with_bias = [&](const Tensor& y) { return sum(square(layer_norm(y, {}, one - 2)) * y); };
  const auto in_parts = [&](const Tensor& y) { return sum(square(layer_norm_in_parts(y, one / 2, one - 2, {-1})) * y); };
  expect_close(grad(plain)(x), grad(in_parts)(x), 1e-10, "no weight and no bias");
  expect_close(grad(with_weight)(x), grad(in_parts)(x), 1e-10, "a weight");
  expect_close(grad(with_bias)(x), grad(in_parts)(x), 1e-10, "a bias");
}

TEST_P(TrainingSteps, TheGradientOfCrossEntropyFailsWithALabelThatIsNoClass) {
  const Tensor labels = constant({0, 3});
  const auto loss = [&](const Tensor& x) { return cross_entropy(x, labels); };
  const Tensor gradient = grad(loss)(ones({2, 3}));
  EXPECT_THROW((void)read<float>(gradient), KernelFailed);
}

// A second derivative, against that of the same function made of others.
TEST_P(TrainingSteps, GradientsOfOneOpCanBeDifferentiated) {
  const Tensor x = uniform({5, 4}, {.key = 6, .low = -2, .high = 2, .dtype = DType::f64});
  const Tensor labels = randint({5}, 0, 4, {.key = 7});
  const auto twice = [&](auto function) {
    return grad([&, function](const Tensor& y) { return sum(square(grad(function)(y))); })(x);
  };
  const auto whole = [&](const Tensor& y) { return cross_entropy(y, labels); };
  const auto in_parts = [&](const Tensor& y) {
    return -mean(sum(log_softmax(y) * one_hot(labels, 4, {.dtype = DType::f64}), 1));
  };
  expect_close(twice(whole), twice(in_parts), 1e-10, "cross_entropy");
  const auto gelu_whole = [](const Tensor& y) { return sum(gelu(y)); };
  const auto gelu_in_parts = [](const Tensor& y) { return sum(y * (erf(y / std::numbers::sqrt2) + 1) * 0.5); };
  expect_close(twice(gelu_whole), twice(gelu_in_parts), 1e-10, "gelu");
  const Tensor weight = uniform({4}, {.key = 8, .low = -2, .high = 2, .dtype = DType::f64});
  const Tensor bias = uniform({4}, {.key = 9, .dtype = DType::f64});
  // Through every output of the gradient, to every input of it.
  const auto norm_twice = [&](auto norm) {
    const auto once = [norm](const Tensor& y, const Tensor& w, const Tensor& b) { return sum(square(norm(y, w, b)) * y); };
    return grad<0, 1, 2>([once](const Tensor& y, const Tensor& w, const Tensor& b) {
      const auto [of_y, of_w, of_b] = grad<0, 1, 2>(once)(y, w, b);
      return sum(square(of_y)) + sum(square(of_w)) + sum(square(of_b));
    })(x, weight, bias);
  };
  const auto [y, w, b] = norm_twice([](const Tensor& u, const Tensor& v, const Tensor& z) { return layer_norm(u, v, z); });
  const auto [part_y, part_w, part_b] =
      norm_twice([](const Tensor& u, const Tensor& v, const Tensor& z) { return layer_norm_in_parts(u, v, z, {-1}); });
  expect_close(y, part_y, 1e-9, "layer_norm");
  expect_close(w, part_w, 1e-9, "layer_norm, weight");
  expect_close(b, part_b, 1e-9, "layer_norm, bias");
  const auto relu_whole = [](const Tensor& y) { return sum(square(relu(y))); };
  const auto relu_in_parts = [](const Tensor& y) { return sum(square(where(greater(y, 0), y, 0))); };
  expect_close(twice(relu_whole), twice(relu_in_parts), 1e-10, "relu");
}

TEST_P(TrainingSteps, GradientsOfGeluHoldFarOut) {
  const Tensor x = constant({-INFINITY, -100.F, -3.F, 0.F, 3.F, 100.F, INFINITY});
  const Tensor slope = grad([](const Tensor& y) { return sum(gelu(y)); })(x);
  expect_close(slope, constant({0.F, 0.F, -0.0119456F, 0.5F, 1.0119456F, 1.F, 1.F}), 1e-5, "gelu");
}

// More parameters than one launch takes, none of them alike, one without elements, one above what is updated together.
TEST_P(TrainingSteps, OptimizersUpdateManyParametersAsEachAlone) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    std::vector<Variable> together;
    std::vector<Tensor> gradients;
    for (std::int64_t i = 0; i < 60; ++i) {
      const Shape shape{i == 7 ? 0 : i * i * 5 % 1301 + 1, i % 3 + 1};
      together.emplace_back(uniform(shape, {.key = static_cast<std::uint64_t>(i), .low = -1, .high = 1, .dtype = dtype}));
      gradients.push_back(uniform(shape, {.key = static_cast<std::uint64_t>(100 + i), .low = -1, .high = 1, .dtype = dtype}));
    }
    const auto each_way = [&](auto make, const std::string& what) {
      std::vector<Variable> alone;
      std::vector<Variable> joined;
      for (const Variable& v : together) {
        alone.emplace_back(v.value());
        joined.emplace_back(v.value());
      }
      const auto of_all = make(joined);
      for (int step = 0; step < 2; ++step) of_all->update(gradients);
      for (std::size_t i = 0; i < alone.size(); ++i) {
        const auto of_one = make({alone[i]});
        for (int step = 0; step < 2; ++step) of_one->update({gradients[i]});
        expect_close(joined[i].value(), alone[i].value(), 0, what + ", parameter " + std::to_string(i));
      }
      // The first by its formula, which tests/train has for one number.
      EXPECT_NE(read<double>(cast(joined[1].value(), DType::f64)), read<double>(cast(together[1].value(), DType::f64)));
    };
    using All = std::vector<Variable>;
    each_way([](const All& all) { return std::make_unique<Sgd>(all, 0.1); }, "Sgd");
    each_way([](const All& all) { return std::make_unique<Sgd>(all, 0.1, SgdOptions{.momentum = 0.9, .nesterov = true}); },
             "momentum");
    each_way([](const All& all) { return std::make_unique<Adam>(all, 0.1, adamw()); }, "Adam");
  }
}

TEST_P(TrainingSteps, OptimizersMoveEveryElementAsTheirFormulasSay) {
  const Tensor start = uniform({3000}, {.key = 8, .low = -1, .high = 1});
  const Tensor gradient = uniform({3000}, {.key = 9, .low = -1, .high = 1});
  const Tensor g = cast(gradient, DType::f64);
  const Tensor x = cast(start, DType::f64);
  const Variable plain(start);
  Sgd sgd({plain}, 0.1);
  sgd.update({gradient});
  expect_close(plain.value(), x - g * 0.1, 1e-6, "Sgd");
  const Variable scaled(start);
  Adam adam({scaled}, 0.1, adamw({.weight_decay = 0.01}));
  adam.update({gradient});
  expect_close(scaled.value(), x * (1 - 0.1 * 0.01) - g / (abs(g) + 1e-8) * 0.1, 1e-5, "Adam");
}

}  // namespace tutti::conformance
