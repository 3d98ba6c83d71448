// What value_and_grad and tapes promise, whatever the function.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "tutti/tutti.h"

namespace tutti {

namespace {

std::vector<float> values(const Tensor& x) { return read<float>(x); }

TEST(ValueAndGrad, GivesWhatTheFunctionGivesAndItsSlope) {
  const auto [value, slope] = value_and_grad([](const Tensor& x) { return sum(square(x)); })(constant({1.F, 2.F, 3.F}));
  EXPECT_EQ(item<float>(value), 14);
  EXPECT_EQ(values(slope), (std::vector<float>{2, 4, 6}));
}

struct Point {
  Tensor x, y;
  int steps = 3;
};

TEST(ValueAndGrad, GradientsAreNestedAsTheirArgumentIs) {
  const Tensor one = constant(1.F);
  const Point at = grad([](const Point& p) { return p.x * p.y * p.steps; })(Point{one * 2, one * 5});
  EXPECT_EQ(item<float>(at.x), 15);
  EXPECT_EQ(item<float>(at.y), 6);
  EXPECT_EQ(at.steps, 3);

  using Nested = std::tuple<std::vector<Tensor>, std::map<std::string, Tensor>, std::optional<Tensor>, std::array<Tensor, 2>>;
  const Nested found = grad([](const Nested& n) {
    const auto& [list, by_name, maybe, pair] = n;
    return list[0] * 2 + list[1] * 3 + by_name.at("w") * 4 + *maybe * 5 + pair[1] * 6;
  })(Nested{{one, one}, {{"w", one}}, one, {one, one}});
  EXPECT_EQ(item<float>(std::get<0>(found)[1]), 3);
  EXPECT_EQ(item<float>(std::get<1>(found).at("w")), 4);
  EXPECT_EQ(item<float>(*std::get<2>(found)), 5);
  EXPECT_EQ(item<float>(std::get<3>(found)[0]), 0);
  EXPECT_EQ(item<float>(std::get<3>(found)[1]), 6);
}

struct Surroundings {
  Tensor x;
  Generator* numbers;
  Layout layout;
  std::function<Tensor(const Tensor&)> last;
  Tensor (*then)(TensorArg, Site);
};

TEST(ValueAndGrad, PassesByWhatHoldsNoTensors) {
  Generator numbers(3);
  const Surroundings given{constant(3.F), &numbers, {}, [](const Tensor& y) { return y * 2; }, square};
  const auto slope = grad([](const Surroundings& in) { return in.then(in.last(in.x), {}); })(given);
  EXPECT_EQ(item<float>(slope.x), 24);
  EXPECT_EQ(slope.numbers, &numbers);
}

TEST(ValueAndGrad, TakesTheArgumentsThatAreNamed) {
  const auto fn = [](const Tensor& a, const Tensor& b, const Tensor& c) { return a * b + c * c; };
  const auto [value, grads] = value_and_grad<0, 2>(fn)(constant(2.F), constant(3.F), constant(4.F));
  EXPECT_EQ(item<float>(value), 22);
  EXPECT_EQ(item<float>(std::get<0>(grads)), 3);
  EXPECT_EQ(item<float>(std::get<1>(grads)), 8);
}

TEST(ValueAndGrad, TellsTwoUsesOfOneTensorApart) {
  const Tensor x = constant(3.F);
  const auto [a, b] = grad<0, 1>([](const Tensor& p, const Tensor& q) { return p * q * q; })(x, x);
  EXPECT_EQ(item<float>(a), 9);
  EXPECT_EQ(item<float>(b), 18);
}

TEST(ValueAndGrad, TheFirstTensorOfAResultIsDifferentiatedAndAllOfItComesBack) {
  const auto fn = [](const Tensor& x) { return std::pair(x * x, std::vector{x + 1}); };
  const auto [value, slope] = value_and_grad(fn)(constant(3.F));
  EXPECT_EQ(item<float>(value.second[0]), 4);
  EXPECT_EQ(item<float>(slope), 6);
}

TEST(ValueAndGrad, OfAGradientIsTheSecondOne) {
  const auto cube = [](const Tensor& x) { return x * x * x; };
  const Tensor at = constant(2.F);
  EXPECT_EQ(item<float>(grad(grad(cube))(at)), 12);
  EXPECT_EQ(item<float>(grad(grad(grad(cube)))(at)), 6);
  // Of softmax and a product, against central differences of the first.
  const auto loss = [](const Tensor& x) { return sum(square(softmax(matmul(x, transpose(x))))); };
  const auto first_sum = [&](const Tensor& x) { return sum(square(grad(loss)(x))); };
  const Tensor x = uniform({2, 3}, {.key = 5, .dtype = DType::f64});
  const Tensor second = grad(first_sum)(x);
  const Tensor direction = uniform({2, 3}, {.key = 6, .dtype = DType::f64});
  const double h = 1e-6;
  const double found = (item<double>(first_sum(x + direction * h)) - item<double>(first_sum(x - direction * h))) / (2 * h);
  EXPECT_NEAR(item<double>(sum(second * direction)), found, 1e-6);
}

TEST(ValueAndGrad, VariablesAreDifferentiatedInTheOrderOfParameters) {
  const std::vector<Variable> all{Variable(constant(2.F)), Variable(constant(5.F)), Variable(constant(7.F))};
  all[1].set_trainable(false);
  const auto [value, grads] = value_and_grad([](const std::vector<Variable>& v) { return v[0] * v[1] * v[2]; })(all);
  EXPECT_EQ(item<float>(value), 70);
  ASSERT_EQ(grads.size(), 2U);
  EXPECT_EQ(item<float>(grads[0]), 35);
  EXPECT_EQ(item<float>(grads[1]), 10);
  EXPECT_EQ(parameters(all).size(), 2U);
}

Tensor rectified(const Tensor& x) { return relu(x); }
struct Chained {
  Dense first;
  Sequential rest;
  [[nodiscard]] Tensor operator()(const Tensor& x) const { return rest(first(x)); }
};

TEST(ValueAndGrad, OfASequentialIsThatOfItsLayers) {
  const std::tuple layers(Dense(3, 4), Dense(4, 4), Dense(4, 1));
  const auto& [first, second, third] = layers;
  const Tensor x = normal({5, 3}, {.key = 1});
  const auto loss = [&](const auto& network) { return sum(square(network(x))); };
  const std::vector<Tensor> expected = grad([&](const std::tuple<Dense, Dense, Dense>& net) {
    const auto& [a, b, c] = net;
    return sum(square(c(rectified(b(rectified(a(x)))))));
  })(layers);
  const auto expect_as_layers = [&](const auto& network) {
    const std::vector<Tensor> found = grad([&](const auto& given) { return loss(given); })(network);
    const std::vector<Variable> all = parameters(network);
    ASSERT_EQ(found.size(), expected.size());
    ASSERT_EQ(all.size(), expected.size()) << "what an optimizer pairs them with";
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(values(found[i]), values(expected[i])) << i;
  };
  expect_as_layers(Sequential(first, rectified, second, rectified, third));
  expect_as_layers(Chained{first, Sequential(rectified, second, rectified, third)});
  expect_as_layers(Sequential(first, Sequential(rectified, Sequential(second, rectified)), third));
}

TEST(ValueAndGrad, OfASequentialMovesItsLayers) {
  const Dense layer(1, 1, {.weights = [](const Shape& shape, DType dtype, Site site) { return ones(shape, dtype, site); }});
  const Sequential chain(layer, rectified);
  Sgd optimizer(parameters(chain), 0.5);
  optimizer.update(grad([](const Sequential& net) { return sum(net(ones({1, 1}))); })(chain));
  EXPECT_EQ(values(layer.weight), (std::vector<float>{0.5F}));
  EXPECT_EQ(values(*layer.bias), (std::vector<float>{-0.5F}));
}

TEST(ValueAndGrad, GoesThroughAssignments) {
  const Variable v(constant(0.F));
  const auto fn = [&](const Tensor& x) {
    v.assign(x * 3);
    v.assign_add(x * x);
    const Tensor before = v.value();
    v.assign(100);
    return before * 2 + v.value();
  };
  EXPECT_EQ(item<float>(grad(fn)(constant(5.F))), 26);
}

TEST(ValueAndGrad, StopsWhereItIsTold) {
  const auto fn = [](const Tensor& x) { return stop_gradient(x * x) * x; };
  EXPECT_EQ(item<float>(grad(fn)(constant(3.F))), 9);
}

TEST(ValueAndGrad, IsZeroWhereNothingDepends) {
  const Tensor slope = grad([](const Tensor& x) { return sum(floor(x)) + 1; })(ones({2, 2}));
  EXPECT_EQ(values(slope), (std::vector<float>{0, 0, 0, 0}));
  const auto [a, b] = grad<0, 1>([](const Tensor& x, const Tensor&) { return sum(x); })(ones({2}), ones({3}));
  EXPECT_EQ(values(b), (std::vector<float>{0, 0, 0}));
}

TEST(ValueAndGrad, IsZeroAtCornersThatHaveNoSlope) {
  const std::vector<float> none{0, 0, 0};
  const auto [a, b] = grad<0, 1>([](const Tensor& x, const Tensor& y) { return sum(hypot(x, y)); })(zeros({3}), zeros({3}));
  EXPECT_EQ(values(a), none);
  EXPECT_EQ(values(b), none);
  const auto [y, x] = grad<0, 1>([](const Tensor& p, const Tensor& q) { return sum(atan2(p, q)); })(zeros({3}), zeros({3}));
  EXPECT_EQ(values(y), none);
  EXPECT_EQ(values(x), none);
  EXPECT_EQ(values(grad([](const Tensor& p) { return std(p); })(full({3}, 2.5F))), none);
  EXPECT_EQ(values(grad([](const Tensor& p) { return vector_norm(p); })(zeros({3}))), none);
}

TEST(ValueAndGrad, OfSeveralValuesForOnePlaceIsThatOfTheOneThatWasSet) {
  const Tensor places = constant({1L, 0L, 1L});
  const Tensor slope = grad([&](const Tensor& v) {
    return sum(at(zeros({2}), {places}).set(v) * constant({3.F, 5.F}));
  })(ones({3}));
  EXPECT_EQ(values(slope), (std::vector<float>{0, 3, 5}));
}

TEST(ValueAndGrad, HasTheDTypeOfItsArgument) {
  const Tensor slope = grad([](const Tensor& x) { return sum(cast(x, DType::f64) * 3); })(ones({2}, DType::bf16));
  EXPECT_EQ(slope.dtype(), DType::bf16);
  EXPECT_EQ(values(cast(slope, DType::f32)), (std::vector<float>{3, 3}));
}

TEST(ValueAndGrad, IsWhereItsArgumentIsAndComesBackAcrossDevices) {
  simulate_gpus(2);
  const Tensor x = copy_to(ones({3}), "GPU:1");
  const Tensor slope = grad([](const Tensor& y) { return sum(copy_to(y * 2, "GPU:0") * 3); })(x);
  EXPECT_EQ(slope.device(), x.device());
  EXPECT_EQ(values(slope), (std::vector<float>{6, 6, 6}));
}

TEST(ValueAndGrad, WaitsForNothing) {
  simulate_gpus(1);
  const Tensor x = uniform({8, 16});
  const Tensor w = uniform({16, 4});
  const Tensor labels = randint({8}, 0, 4);
  const SyncScope strict(OnSync::error);
  const auto [loss, slope] =
      value_and_grad([&](const Tensor& weights) { return cross_entropy(relu(matmul(x, weights)), labels); })(w);
  const AllowSync once("the test looks");
  EXPECT_GT(item<float>(loss), 0);
  EXPECT_EQ(slope.shape(), w.shape());
}

TEST(ValueAndGrad, AsksForOneNumber) {
  const auto message = [](auto fn) -> std::string {
    try {
      (void)grad(fn)(ones({2}));
    } catch (const NoGradient& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_NE(message([](const Tensor& x) { return x * 2; }).find("it must be one number. Take its sum or mean first"),
            std::string::npos);
  EXPECT_NE(message([](const Tensor& x) { return argmax(x); }).find("only floating dtypes"), std::string::npos);
}

TEST(Tape, IsAskedSeveralTimesAndWithWeights) {
  Tape tape;
  const Tensor x = constant({1.F, 2.F});
  tape.watch(x);
  Tensor y;
  {
    const Tape::Recording on(tape);
    y = x * x * x;
  }
  EXPECT_EQ(values(tape.gradient(y, x, constant({1.F, 10.F}))), (std::vector<float>{3, 120}));
  EXPECT_EQ(values(tape.gradient(y, x, ones({2}))), (std::vector<float>{3, 12}));
  EXPECT_THROW((void)tape.gradient(y, y, ones({2})), NoGradient) << "y was not watched";
}

TEST(Tape, KeepsOnlyWhatRulesRead) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Tensor x = ones({1024, 256});
  Tape tape;
  tape.watch(x);
  const auto before = memory_info("GPU:0").in_use;
  Tensor y = x;
  {
    const Tape::Recording recording(tape);
    for (int i = 0; i < 20; ++i) y = y + 1;  // no rule needs the sums in between
  }
  sync_devices();
  EXPECT_LE(memory_info("GPU:0").in_use, before + 3 * MiB(1));
  EXPECT_EQ(item<float>(sum(tape.gradient(sum(y), x))), 0) << "the sum was made outside of the tape";
}

}  // namespace

}  // namespace tutti
