// Gradients of sharded tensors: sharded as what they are of, and of the whole tensor.
#include <gtest/gtest.h>

#include "tutti/tutti.h"

namespace tutti {

namespace {

Mesh grid() {
  simulate_gpus(4);
  return create_mesh({{"x", 2}, {"y", 2}}, {"GPU:0", "GPU:1", "GPU:2", "GPU:3"});
}

TEST(ShardedGradients, AreThoseOfTheWholeTensorInItsLayout) {
  const Mesh mesh = grid();
  const Tensor x = uniform({4, 6}, {.key = 1, .dtype = DType::f64});
  const Tensor w = uniform({6, 4}, {.key = 2, .dtype = DType::f64});
  const auto whole = value_and_grad<0, 1>([](const Tensor& a, const Tensor& b) { return sum(square(matmul(a, b))); })(x, w);
  struct Specs {
    std::vector<std::string> x, w;
  };
  for (const Specs& specs : {Specs{{"x", unsharded}, {unsharded, "y"}}, Specs{{"x", "y"}, {"y", unsharded}},
                             Specs{{unsharded, unsharded}, {unsharded, "x"}}, Specs{{"y", unsharded}, {unsharded, unsharded}}}) {
    const Layout of_x(specs.x, mesh);
    const Layout of_w(specs.w, mesh);
    const auto loss = [](const ShardedTensor& a, const ShardedTensor& b) { return sum(square(matmul(a, b))); };
    const auto [value, grads] = value_and_grad<0, 1>(loss)(shard(x, of_x), shard(w, of_w));
    const auto& [slope_x, slope_w] = grads;
    EXPECT_EQ(slope_x.layout(), of_x);
    EXPECT_EQ(slope_w.layout(), of_w);
    EXPECT_NEAR(item<double>(to_tensor(value, "CPU:0")), item<double>(whole.value), 1e-9);
    const auto differs = [](const ShardedTensor& found, const Tensor& expected) {
      const Tensor here = copy_to(expected, "CPU:0");
      double most = 0;
      for (std::size_t i = 0; i < found.shards().size(); ++i) {
        const Tensor part = shard(here, found.layout()).shards()[i];
        most = std::max(most, item<double>(max(abs(found.shards()[i] - part))));
      }
      return most;
    };
    EXPECT_LT(differs(slope_x, std::get<0>(whole.grads)), 1e-9) << of_x.specs_text() << of_w.specs_text();
    EXPECT_LT(differs(slope_w, std::get<1>(whole.grads)), 1e-9) << of_x.specs_text() << of_w.specs_text();
  }
}

TEST(ShardedGradients, GoThroughATensorOfTheWhole) {
  const Mesh mesh = grid();
  const ShardedTensor x = shard(constant({1.F, 2.F, 3.F, 4.F}), Layout({"x"}, mesh));
  const ShardedTensor slope = grad([](const ShardedTensor& y) { return sum(square(to_tensor(y, "GPU:1"))); })(x);
  EXPECT_EQ(read<float>(slope), (std::vector<float>{2, 4, 6, 8}));
}

struct Inputs {
  ShardedTensor x;
  ShardedTensor labels;
  Tensor scale;
};

TEST(ShardedGradients, AreFoundInsideOfStructsAndTuples) {
  const Mesh mesh = grid();
  const Layout rows({"x"}, mesh);
  const Inputs given{shard(constant({1.F, 2.F}), rows), shard(constant({3L, 4L}), rows), constant(2.F)};
  const auto [value, slopes] = value_and_grad(
      [](const Inputs& in) { return std::pair(sum(in.x * cast(in.labels, DType::f32)), to_tensor(in.x) * in.scale); })(given);
  EXPECT_EQ(read<float>(slopes.x), (std::vector<float>{3, 4}));
  EXPECT_FALSE(slopes.labels.is_defined()) << "whole numbers have no gradient";
  EXPECT_EQ(item<float>(slopes.scale), 0);
}

TEST(ShardedGradients, AskForOneNumberOfAllShards) {
  const ShardedTensor x = shard(constant({1.F, 2.F}), Layout({"x"}, grid()));
  try {
    (void)grad([](const ShardedTensor& y) { return y * 2; })(x);
    FAIL() << "two numbers were differentiated";
  } catch (const NoGradient& error) {
    EXPECT_NE(std::string(error.what()).find("sharded tensor of shape (2,)"), std::string::npos) << error.what();
  }
}

TEST(ShardedGradients, ACapturedFunctionTakesShardedTensorsAsItsArguments) {
  const Mesh mesh = grid();
  const auto doubled = capture([](const ShardedTensor& y) { return y * 2; });
  for (const float first : {1.F, 5.F, 7.F}) {
    const ShardedTensor x = shard(constant({first, 2.F}), Layout({"x"}, mesh));
    EXPECT_EQ(read<float>(doubled(x)), (std::vector<float>{2 * first, 4}));
  }
  const ShardedTensor other = doubled(shard(constant({1.F}), Layout({unsharded}, mesh)));
  EXPECT_EQ(read<float>(other), std::vector<float>{2}) << "shards of the same shape in another layout";
}

TEST(ValueAndGrad, LeavesATensorBehindASharedPointerAsItIs) {
  const auto shared = std::make_shared<Tensor>(constant(3.F));
  EXPECT_THROW((void)grad([](const std::shared_ptr<Tensor>& x) { return *x * *x; })(shared), InvalidArgument);
  EXPECT_EQ(item<float>(*shared), 3);
}

}  // namespace

}  // namespace tutti
