// Convolutions and attention with cuDNN and with kernels of ours: both are what the CPU gives in double precision, forward and
// back.
#include <cstdlib>

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

INSTANTIATE_TEST_SUITE_P(Cudnn, WithAndWithoutCudnn, testing::Values("0", "1"),
                         [](const auto& each) { return std::string(each.param) == "0" ? "without" : "with"; });

}  // namespace tutti::testing_cuda
