// Convolutions and pooling in both layouts: the same values, gradients and second gradients, and results that lie as they came.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "conformance/backend.h"
#include "tutti/tutti.h"

namespace tutti::conformance {

namespace {

Tensor drawn_images(const Shape& shape, std::uint64_t key, DType dtype = DType::f64) {
  return uniform(shape, {.key = key, .low = -1, .high = 1, .dtype = dtype});
}

struct ConvolutionCase {
  Shape images;
  Shape weight;
  Conv2dOptions options;
};
std::vector<ConvolutionCase> convolution_cases() {
  return {
      {{2, 3, 8, 9}, {4, 3, 3, 3}, {.padding = 1}},
      {{3, 4, 7, 6}, {6, 2, 3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .groups = 2}},
      {{2, 4, 5, 5}, {8, 4, 1, 1}, {}},
      {{2, 4, 6, 6}, {4, 1, 3, 3}, {.padding = 1, .groups = 4}},
      {{1, 2, 12, 20}, {3, 2, 3, 3}, {.stride = 2, .padding = 2, .dilation = 2}},
      {{2, 6, 6, 4}, {4, 3, 1, 1}, {.stride = 2, .groups = 2}},
      {{1, 1, 4, 30}, {2, 1, 1, 5}, {}},
  };
}

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// Elements are told apart by weights of their own.
Tensor weighed(const Tensor& y, std::uint64_t key) { return sum(y * drawn_images(y.shape(), key, y.dtype())); }

std::vector<Tensor> window_slopes(const Function& function, std::vector<Tensor> inputs) {
  Tape tape;
  std::vector<Tape::Wanted> wanted;
  for (Tensor& each : inputs) {
    tape.watch(each);
    wanted.push_back({.tensor = &each});
  }
  Tensor loss;
  {
    const Tape::Recording on(tape);
    loss = function(inputs);
  }
  return tape.gradients(loss, wanted);
}

void expect_slope(const Function& function, const std::vector<Tensor>& inputs) {
  constexpr double step = 1e-6;
  const std::vector<Tensor> slopes = window_slopes(function, inputs);
  double expected = 0;
  std::vector<Tensor> up = inputs;
  std::vector<Tensor> down = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor d = drawn_images(inputs[i].shape(), 500 + i);
    expected += item<double>(sum(slopes[i] * d));
    up[i] = inputs[i] + d * step;
    down[i] = inputs[i] - d * step;
  }
  const double found = (item<double>(function(up)) - item<double>(function(down))) / (2 * step);
  EXPECT_NEAR(expected, found, 2e-6 * (1 + std::abs(found)));
}

// The square of the first gradients: its gradient is of second order.
Function squared_gradients(const Function& function) {
  return [function](const std::vector<Tensor>& inputs) {
    Tensor total;
    std::uint64_t key = 900;
    for (const Tensor& slope : window_slopes(function, inputs)) {
      const Tensor part = weighed(square(slope), ++key);
      total = total.is_defined() ? total + part : part;
    }
    return total;
  };
}

bool lies_channels_last(const Tensor& x) {
  return contiguous(permute_dims(x, {0, 2, 3, 1})).strides() == permute_dims(x, {0, 2, 3, 1}).strides();
}

class Windows : public OnBackend {};

TEST_P(Windows, OfConvolutionsHaveTheGradientsThatSmallChangesShow) {
  for (const auto& [images, weight, options] : convolution_cases()) {
    SCOPED_TRACE(to_string(images) + " by " + to_string(weight));
    const Function function = [&](const std::vector<Tensor>& in) {
      return weighed(square(conv2d(in[0], in[1], {}, options)), 7);
    };
    const std::vector<Tensor> inputs{drawn_images(images, 1), drawn_images(weight, 2)};
    expect_slope(function, inputs);
    expect_slope(function, {channels_last(inputs[0]), channels_last(inputs[1])});
    expect_slope(squared_gradients(function), inputs);
  }
}

TEST_P(Windows, OfPoolingHaveTheGradientsThatSmallChangesShow) {
  const std::vector<Function> functions{
      [](const std::vector<Tensor>& in) { return weighed(square(max_pool2d(in[0], 3, {.stride = 2, .padding = 1})), 7); },
      [](const std::vector<Tensor>& in) {
        return weighed(square(max_pool2d(in[0], {2, 3}, {.stride = 1, .dilation = {1, 2}})), 7);
      },
      [](const std::vector<Tensor>& in) {
        return weighed(square(avg_pool2d(in[0], 3, {.stride = 2, .padding = 1, .count_include_pad = false})), 7);
      },
      [](const std::vector<Tensor>& in) { return weighed(square(avg_pool2d(in[0], 3, {.stride = 2, .ceil_mode = true})), 7); },
  };
  for (const Function& function : functions) {
    const Tensor x = drawn_images({2, 3, 8, 9}, 3);
    expect_slope(function, {x});
    expect_slope(function, {channels_last(x)});
    expect_slope(squared_gradients(function), {x});
  }
}

TEST_P(Windows, AreTheSameWithChannelsLast) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const double steps = dtype == DType::f64 ? 1e-12 : dtype == DType::f32 ? 1e-4 : dtype == DType::f16 ? 2e-2 : 2e-1;
    const auto close = [&](const Tensor& a, const Tensor& b) {
      return item<bool>(allclose(cast(a, DType::f64), cast(b, DType::f64), {.rtol = steps, .atol = steps}));
    };
    for (const auto& [images, weight, options] : convolution_cases()) {
      SCOPED_TRACE(std::string(to_string(dtype)) + " " + to_string(images) + " by " + to_string(weight));
      const Tensor x = drawn_images(images, 1, dtype);
      const Tensor w = drawn_images(weight, 2, dtype);
      const Function function = [&](const std::vector<Tensor>& in) { return weighed(conv2d(in[0], in[1], {}, options), 7); };
      const Tensor first = conv2d(x, w, {}, options);
      EXPECT_TRUE(close(first, conv2d(channels_last(x), w, {}, options)));
      // Products in f64 of what half precision holds say how far off both are.
      const Tensor exact = conv2d(cast(x, DType::f64), cast(w, DType::f64), {}, options);
      EXPECT_TRUE(close(first, exact));
      const std::vector<Tensor> slopes = window_slopes(function, {x, w});
      const std::vector<Tensor> others = window_slopes(function, {channels_last(x), channels_last(w)});
      for (std::size_t i = 0; i < slopes.size(); ++i) EXPECT_TRUE(close(slopes[i], others[i])) << "input " << i;
    }
    const Tensor x = drawn_images({2, 3, 8, 9}, 3, dtype);
    EXPECT_TRUE(close(max_pool2d(x, 3, {.stride = 2}), max_pool2d(channels_last(x), 3, {.stride = 2})));
    EXPECT_TRUE(close(avg_pool2d(x, 2), avg_pool2d(channels_last(x), 2)));
  }
}

TEST_P(Windows, KeepChannelsLastThroughANetwork) {
  const Tensor w = drawn_images({6, 4, 3, 3}, 2, DType::f32);
  const Tensor x = channels_last(drawn_images({2, 4, 8, 10}, 1, DType::f32));
  ASSERT_TRUE(lies_channels_last(x));
  const Tensor y = conv2d(x, w, drawn_images({6}, 3, DType::f32), {.padding = 1});
  EXPECT_TRUE(lies_channels_last(y));
  const BatchNorm norm(6);
  EXPECT_TRUE(lies_channels_last(norm(y)));
  EXPECT_TRUE(lies_channels_last(max_pool2d(relu(norm(y)), 2)));
  EXPECT_TRUE(lies_channels_last(avg_pool2d(y + y, 2)));
  EXPECT_TRUE(lies_channels_last(conv2d(contiguous(x), channels_last(w))));
  EXPECT_FALSE(lies_channels_last(conv2d(contiguous(x), w)));
  const std::vector<Tensor> slopes =
      window_slopes([](const std::vector<Tensor>& in) { return sum(square(conv2d(in[0], in[1]))); }, {x, channels_last(w)});
  EXPECT_TRUE(lies_channels_last(slopes[0]));
  EXPECT_TRUE(lies_channels_last(slopes[1]));
}

TEST_P(Windows, OfNothingGiveZerosOrNothing) {
  const Function function = [](const std::vector<Tensor>& in) { return sum(conv2d(in[0], in[1], {}, {.padding = 1})); };
  const std::vector<Tensor> slopes = window_slopes(function, {zeros({0, 3, 5, 5}), ones({2, 3, 3, 3})});
  EXPECT_EQ(slopes[0].shape(), (Shape{0, 3, 5, 5}));
  EXPECT_EQ(item<float>(sum(abs(slopes[1]))), 0);
}

TUTTI_ON_EVERY_BACKEND(Windows);

}  // namespace

}  // namespace tutti::conformance
