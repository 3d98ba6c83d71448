// Gradients that are stated, and functions that run a second time for theirs.
#include <gtest/gtest.h>

#include <cmath>

#include "tutti/tutti.h"

namespace tutti {

namespace {

std::vector<float> floats(const Tensor& x) { return read<float>(x); }

TEST(CustomGradient, IsTheOneThatIsStated) {
  const auto clipped = custom_gradient([](const Tensor& x) { return x * 1; },
                                       [](std::span<const Tensor>, std::span<const Tensor>, std::span<const Tensor> g) {
                                         return std::vector<Tensor>{clip(g[0], -1, 1)};
                                       });
  EXPECT_EQ(item<float>(grad([&](const Tensor& x) { return clipped(x) * 5; })(constant(2.F))), 1);
  EXPECT_EQ(item<float>(clipped(constant(2.F))), 2);
}

struct Block {
  Variable w;
  [[nodiscard]] Tensor operator()(const Tensor& x) const { return dropout(tanh(matmul(x, w)), 0.3); }
};

TEST(Checkpoint, HasTheSameValuesAndGradientsAndDrawsTheSameNumbers) {
  const Block block{Variable(uniform({6, 6}, {.key = 3}))};
  const Tensor x = uniform({4, 6}, {.key = 4});
  const auto plain = [&](const Block& b, const Tensor& in) { return sum(square(b(in))); };
  const auto kept_little = [&](const Block& b, const Tensor& in) {
    return sum(square(checkpoint([](const Block& inner, const Tensor& y) { return inner(y); })(b, in)));
  };
  set_seed(9);
  const auto expected = value_and_grad<0, 1>(plain)(block, x);
  set_seed(9);
  const auto found = value_and_grad<0, 1>(kept_little)(block, x);
  EXPECT_EQ(item<float>(found.value), item<float>(expected.value));
  EXPECT_EQ(floats(std::get<0>(found.grads)[0]), floats(std::get<0>(expected.grads)[0]));
  EXPECT_EQ(floats(std::get<1>(found.grads)), floats(std::get<1>(expected.grads)));
}

TEST(CustomGradient, HoldsForAnArgumentThatIsGivenBack) {
  const auto clipped = custom_gradient(
      [](const Tensor& x) { return x; },
      [](std::span<const Tensor>, std::span<const Tensor>, std::span<const Tensor> g) { return std::vector{clip(g[0], -1, 1)}; });
  EXPECT_EQ(item<float>(grad([&](const Tensor& x) { return clipped(x) * 5; })(constant(2.F))), 1);
}

struct Weighted {
  Tensor x;
  Variable w;
  double scale;
};

TEST(CustomGradient, TakesAndGivesAnyNesting) {
  const auto product = custom_gradient(
      [](const Weighted& in, const std::vector<Tensor>& more) { return std::pair(in.x * in.w * in.scale, more[0] + more[1]); },
      [](std::span<const Tensor> in, std::span<const Tensor> out, std::span<const Tensor> g) {
        EXPECT_EQ(out.size(), 2U);
        return std::vector{g[0] * in[1] * 100, g[0] * in[0] * 100, g[1] * 7, Tensor()};
      });
  const Variable w(constant(3.F));
  const auto slopes = grad<0, 1, 2>([&](const Tensor& x, const Variable& v, const Tensor& y) {
    const auto [a, b] = product(Weighted{x, v, 2}, std::vector{y, y});
    return a + b;
  })(constant(5.F), w, constant(1.F));
  EXPECT_EQ(item<float>(std::get<0>(slopes)), 300);
  EXPECT_EQ(item<float>(std::get<1>(slopes)), 500);
  EXPECT_EQ(item<float>(std::get<2>(slopes)), 7);
}

TEST(CustomGradient, RefusesWhatItsGradientSaysNothingOf) {
  const Variable w(ones({2, 3}));
  const auto stated = [](std::span<const Tensor>, std::span<const Tensor>, std::span<const Tensor> g) {
    return std::vector<Tensor>(g.begin(), g.end());
  };
  const auto with_variable = custom_gradient([w](const Tensor& x) { return x * w; }, stated);
  const auto message = [&](const auto& fn) -> std::string {
    try {
      (void)grad<0, 1>(fn)(ones({2, 3}), w);
    } catch (const NoGradient& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  const std::string found = message([&](const Tensor& x, const Variable&) { return sum(with_variable(x)); });
  EXPECT_NE(found.find("uses a float32 tensor or variable of shape (2, 3)"), std::string::npos) << found;
  EXPECT_EQ(message([&](const Tensor& x, const Variable&) {
              const Tensor other = x * 2;
              return sum(custom_gradient([=](const Tensor& y) { return y + other; }, stated)(x));
            }).find("custom_gradient: "),
            0U);
  EXPECT_EQ(floats(grad([&](const Tensor& x) { return sum(with_variable(x)); })(ones({2, 3}))), std::vector<float>(6, 1.F))
      << "nobody wants the variable's";
}

TEST(Checkpoint, GivesGradientsToWhatTheFunctionUsesWithoutGettingIt) {
  const Variable w(uniform({6, 6}, {.key = 3}));
  const Tensor x = uniform({4, 6}, {.key = 4});
  const auto loss = [&](auto&& run) {
    return [&, run](const Variable& v, const Tensor& in) {
      const Tensor shift = in * in;
      return sum(square(run([v, shift](const Tensor& y) { return tanh(matmul(y, v)) + shift; }, in * 2)));
    };
  };
  const auto plain = value_and_grad<0, 1>(loss([](const auto& f, const Tensor& in) { return f(in); }))(w, x);
  const auto again = value_and_grad<0, 1>(loss([](const auto& f, const Tensor& in) { return checkpoint(f)(in); }))(w, x);
  EXPECT_EQ(item<float>(again.value), item<float>(plain.value));
  EXPECT_EQ(floats(std::get<0>(again.grads)), floats(std::get<0>(plain.grads)));
  EXPECT_EQ(floats(std::get<1>(again.grads)), floats(std::get<1>(plain.grads)));
}

TEST(Checkpoint, TakesATensorTwiceAndGivesSeveralBack) {
  const auto both = checkpoint([](const std::pair<Tensor, Tensor>& in) {
    return std::vector{in.first * in.second, in.first, exp(in.second), argmax(in.first)};
  });
  const Tensor slope = grad([&](const Tensor& x) {
    const std::vector<Tensor> out = both(std::pair(x, x));
    return sum(out[0] * 3) + sum(out[1] * 10) + sum(out[2]);
  })(zeros({2}) + 2);
  const float expected = 3 * 4 + 10 + std::exp(2.F);
  EXPECT_FLOAT_EQ(floats(slope)[0], expected);
}

TEST(Checkpoint, HasASecondGradient) {
  const Variable w(constant(2.F));
  const auto cube = checkpoint([w](const Tensor& x) { return x * x * x * w; });
  EXPECT_EQ(item<float>(grad(grad([&](const Tensor& x) { return cube(x); }))(constant(3.F))), 36);
  EXPECT_EQ(item<float>(grad([&](const Variable&) { return grad([&](const Tensor& x) { return cube(x); })(constant(3.F)); })(w)),
            27);
}

TEST(Checkpoint, InsideOfAnotherDrawsTheSameNumbersAgain) {
  const Tensor x = ones({64});
  const auto kept = [](const Tensor& y) { return dropout(y, 0.5); };
  const auto [out, slope] = value_and_grad([&](const Tensor& y) {
    const Tensor dropped = checkpoint([&](const Tensor& z) { return checkpoint(kept)(z * 3) * 2; })(y);
    return std::pair(sum(dropped), dropped);
  })(x);
  EXPECT_EQ(floats(out.second), floats(slope)) << "it is linear";
}

TEST(Checkpoint, AssignsOnceAndGradientsGoThroughIt) {
  const Variable steps(constant(0.F));
  const Variable state(constant(1.F));
  const auto step = [&](const Tensor& x) {
    steps.assign_add(1);
    state.assign(state * x);
    return state * x;
  };
  const auto run = [&](const auto& function) {
    steps.assign(0);
    state.assign(1);
    return value_and_grad([&](const Tensor& x) {
      const Tensor first = function(x);
      const Tensor second = function(x);
      return first + second * 10 + state * 100;
    })(constant(2.F));
  };
  const auto plain = run(step);
  const auto again = run(checkpoint(step));
  EXPECT_EQ(item<float>(again.value), item<float>(plain.value));
  EXPECT_EQ(item<float>(again.grads), item<float>(plain.grads));
  EXPECT_EQ(item<float>(again.grads), 2 * 2 + 10 * 3 * 4 + 100 * 2 * 2);
  EXPECT_EQ(item<float>(steps), 2);
  EXPECT_EQ(item<float>(state), 4);
}

TEST(Checkpoint, KeepsOnlyWhatGoesIn) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Tensor x = ones({1024, 256});  // 1 MiB
  const auto deep = [](const Tensor& in) {
    Tensor y = in;
    for (int i = 0; i < 16; ++i) y = sin(y);
    return y;
  };
  const auto peak = [&](const auto& part) {
    sync_devices();
    reset_peak("GPU:0");
    const std::uint64_t before = memory_info("GPU:0").in_use;
    const Tensor slope = grad([&](const Tensor& in) { return sum(part(part(part(part(in))))); })(x);
    sync_devices();
    return (memory_info("GPU:0").peak - before) >> 20U;
  };
  EXPECT_GE(peak(deep), 64U) << "every sine is kept";
  EXPECT_LE(peak(checkpoint(deep)), 28U) << "four results, and the sixteen sines of one part";
}

}  // namespace

}  // namespace tutti
