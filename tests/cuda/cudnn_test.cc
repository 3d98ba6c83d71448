// Convolutions and attention with cuDNN and with kernels of ours: both are what the CPU gives in double precision, forward and
// back.
#include <cstdlib>
#include <functional>
#include <string_view>
#include <utility>

#include "cuda/gpu.h"

namespace tutti::testing_cuda {

namespace {

using Tensors = std::vector<Tensor>;
using FunctionOfMany = std::function<Tensor(const Tensors&)>;

// Each test has a process of its own, in which the environment is asked when cuDNN is needed first.
class WithAndWithoutCudnn : public OnGpu, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    setenv("TUTTI_CUDNN", GetParam(), 1);
    set_log_level(LogLevel::debug);
    set_log_sink([](LogLevel, std::string_view line) {  // what it refuses is not a failure, and worth knowing
      if (line.find("cuDNN") != std::string_view::npos) std::cout << line << '\n';
    });
    OnGpu::SetUp();
  }

  // The result and the gradients of its weighted sum, on that device.
  static Tensors all_of(const FunctionOfMany& function, const Tensors& inputs, DType dtype, const std::string& device) {
    const DeviceScope on(device);
    Tensors there;
    for (const Tensor& input : inputs) there.push_back(cast(copy_to(input, device), dtype));
    const auto [value, slopes] = value_and_grad([&](const Tensors& x) {
      const Tensor out = function(x);
      const Tensor weights = cast(uniform(out.shape(), {.key = 99, .low = -1, .high = 1, .dtype = DType::f32}), dtype);
      return std::pair(sum(cast(out * weights, DType::f32)), out);
    })(there);
    Tensors out{copy_to(cast(value.second, DType::f64), "CPU:0")};
    for (const Tensor& slope : slopes) out.push_back(copy_to(cast(slope, DType::f64), "CPU:0"));
    return out;
  }

  static void expect_close(const FunctionOfMany& function, const std::vector<Shape>& shapes, const std::string& what) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      SCOPED_TRACE(what + ", " + std::string(to_string(dtype)));
      const double tolerance = dtype == DType::f32 ? 1e-4 : dtype == DType::f16 ? 1e-2 : 8e-2;
      Tensors inputs;  // numbers that every dtype has
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        const DeviceScope host("CPU:0");
        inputs.push_back(cast(uniform(shapes[i], {.key = i + 1, .low = -1, .high = 1, .dtype = DType::bf16}), DType::f32));
      }
      const Tensors found = all_of(function, inputs, dtype, "GPU:0");
      const Tensors exact = all_of(function, inputs, DType::f64, "CPU:0");
      for (std::size_t i = 0; i < exact.size(); ++i) {
        const DeviceScope host("CPU:0");
        const double scale = std::max(1.0, item<double>(max(abs(exact[i]))));
        EXPECT_LT(item<double>(max(abs(found[i] - exact[i]))), tolerance * scale) << (i == 0 ? "the result" : "gradient ") << i;
      }
    }
  }
};

// Matches that are far enough apart for a key that is seen by mistake to show.
Tensor attend_masked(const Tensors& x, bool causal, const Tensor& mask) {
  return scaled_dot_product_attention(x[0] * 4, x[1], x[2], {.causal = causal, .mask = mask});
}

}  // namespace

TEST_P(WithAndWithoutCudnn, ConvolutionsAndTheirGradientsAreThoseOfTheCpu) {
  struct Case {
    Shape images, weight;
    Conv2dOptions options;
  };
  for (const Case& c : std::vector<Case>{{{2, 16, 20, 30}, {24, 16, 3, 3}, {.padding = 1}},
                                         {{2, 3, 33, 33}, {16, 3, 7, 7}, {.stride = 2, .padding = 3}},
                                         {{4, 32, 14, 14}, {64, 32, 1, 1}, {}},
                                         {{2, 8, 16, 16}, {16, 4, 3, 3}, {.padding = 2, .dilation = 2, .groups = 2}}}) {
    const std::vector<Shape> shapes{c.images, c.weight, {c.weight[0]}};
    const auto function = [&](const Tensors& x) { return conv2d(x[0], x[1], x[2], c.options); };
    expect_close(function, shapes, "conv2d " + to_string(c.weight));
    expect_close([&](const Tensors& x) { return conv2d(channels_last(x[0]), x[1], x[2], c.options); }, shapes,
                 "channels last " + to_string(c.weight));
  }
}

TEST_P(WithAndWithoutCudnn, AttentionAndItsGradientsAreThoseOfTheCpu) {
  for (const bool causal : {false, true}) {
    for (const bool masked : {false, true}) {
      const auto function = [=](const Tensors& x) {
        Tensor mask;
        if (masked) mask = less(arange(96), reshape(constant({96, 50}), {2, 1, 1, 1}));
        return scaled_dot_product_attention(x[0], x[1], x[2], {.causal = causal, .mask = mask});
      };
      expect_close(function, {{2, 3, 96, 64}, {2, 3, 96, 64}, {2, 3, 96, 64}},
                   std::string(causal ? "causal" : "all") + (masked ? ", with a mask" : ""));
    }
  }
}

TEST_P(WithAndWithoutCudnn, SumsInAnyOrderAreThoseOfTheCpu) {
  set_deterministic(false);
  const Conv2dOptions options{.stride = 2, .padding = 1};
  expect_close([&](const Tensors& x) { return conv2d(x[0], x[1], x[2], options); }, {{8, 32, 28, 28}, {64, 32, 3, 3}, {64}},
               "conv2d");
  for (const bool causal : {false, true}) {
    for (const bool masked : {false, true}) {
      const auto function = [=](const Tensors& x) {
        const Tensor mask = masked ? less(arange(300), reshape(constant({300, 50}), {2, 1, 1, 1})) : Tensor();
        return scaled_dot_product_attention(x[0], x[1], x[2], {.causal = causal, .mask = mask});
      };
      expect_close(function, {{2, 3, 300, 64}, {2, 3, 300, 64}, {2, 3, 300, 64}},
                   std::string(causal ? "causal" : "all") + (masked ? ", with a mask" : ""));
    }
  }
}

TEST_P(WithAndWithoutCudnn, MasksAreThoseOfTheCpuHoweverTheyAreShared) {
  struct Case {
    std::int64_t queries, keys;
    Shape mask;
    bool causal;
  };
  for (const Case& c : std::vector<Case>{{96, 96, {2, 1, 1, 96}, false},
                                         {100, 77, {100, 77}, false},
                                         {130, 130, {1, 4, 130, 130}, true},
                                         {70, 131, {2, 1, 70, 131}, false},
                                         {64, 200, {2, 4, 64, 200}, true},
                                         {128, 128, {1, 1, 1, 128}, true}}) {
    const auto function = [&](const Tensors& x) {
      const Tensor some = greater(uniform(c.mask, {.key = 7, .low = -1, .high = 1, .dtype = DType::f32}), 0.2);
      return attend_masked(x, c.causal, logical_or(some, equal(arange(c.keys), 0)));  // every query sees one
    };
    expect_close(function, {{2, 4, c.queries, 64}, {2, 4, c.keys, 64}, {2, 4, c.keys, 64}},
                 to_string(c.mask) + (c.causal ? ", causal" : ""));
  }
}

TEST_P(WithAndWithoutCudnn, QueriesThatSeeNoKeyWeighAllAlike) {
  using Mask = std::function<Tensor()>;
  const auto place = [] { return arange(96); };
  const auto lengths = [](std::int64_t first, std::int64_t second) { return reshape(constant({first, second}), {2, 1, 1, 1}); };
  const std::vector<std::pair<std::string, Mask>> masks{
      {"nothing in one batch", [&] { return less(place(), lengths(0, 50)); }},
      {"the last places of two lengths", [&] { return greater_equal(place(), lengths(5, 70)); }},
      {"some queries", [&] {
         const Tensor query = reshape(place(), {96, 1});
         return logical_and(not_equal(query % 7, 0), greater_equal(place() + query, 60));
       }}};
  for (const auto& [what, mask] : masks) {
    for (const bool causal : {false, true}) {
      const auto function = [&, &mask = mask](const Tensors& x) { return attend_masked(x, causal, mask()); };
      expect_close(function, {{2, 3, 96, 64}, {2, 3, 96, 64}, {2, 3, 96, 64}}, what + (causal ? ", causal" : ""));
    }
  }
}

TEST_P(WithAndWithoutCudnn, AMaskOfManyHeadsIsThatOfEach) {
  constexpr std::int64_t length = 4096;  // more weights than are worked on at a time
  const auto drawn = [](std::uint64_t key) {
    return uniform({2, 16, length, 64}, {.key = key, .low = -1, .high = 1, .dtype = DType::bf16});
  };
  const Tensors all{drawn(1), drawn(2), drawn(3), drawn(4),
                    greater(uniform({2, 16, 1, length}, {.key = 5, .low = -1, .high = 1, .dtype = DType::f32}), 0.2)};
  const auto gradients = [](const Tensors& x) {
    return value_and_grad([&](const Tensors& in) { return sum(cast(attend_masked(in, false, x[4]) * x[3], DType::f32)); })(
               Tensors{x[0], x[1], x[2]})
        .grads;
  };
  const Tensors together = gradients(all);
  for (const auto& [batch, head] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 0}, {0, 15}, {1, 3}, {1, 15}}) {
    SCOPED_TRACE("batch " + std::to_string(batch) + ", head " + std::to_string(head));
    const auto one = [&, batch = batch, head = head](const Tensor& x) {
      return slice(slice(x, 0, {batch, batch + 1}), 1, {head, head + 1});
    };
    Tensors alone;
    for (const Tensor& each : all) alone.push_back(one(each));
    const Tensors wanted = gradients(alone);
    for (std::size_t i = 0; i < 3; ++i) {
      const Tensor exact = cast(wanted[i], DType::f32);
      const double scale = item<double>(cast(max(abs(exact)), DType::f64));
      EXPECT_LT(item<double>(cast(max(abs(cast(one(together[i]), DType::f32) - exact)), DType::f64)), 2e-2 * scale)
          << "gradient " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cudnn, WithAndWithoutCudnn, testing::Values("0", "1"),
                         [](const auto& each) { return std::string(each.param) == "0" ? "without" : "with"; });

}  // namespace tutti::testing_cuda
