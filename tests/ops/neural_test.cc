// What scans, normalisations and windows refuse, and how: at the call where shapes tell, in the value where only data does.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tutti/tutti.h"

namespace tutti {
namespace {

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message();
  }
  return "nothing was thrown";
}

void expect_message(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

class NeuralOnEachDevice : public testing::TestWithParam<const char*> {
 protected:
  NeuralOnEachDevice() { simulate_gpus(1); }
};

INSTANTIATE_TEST_SUITE_P(Each, NeuralOnEachDevice, testing::Values("CPU:0", "GPU:0"),
                         [](const auto& param) { return std::string(param.param, 3); });

TEST_P(NeuralOnEachDevice, ALabelThatIsNoClassSpoilsTheLossWithOpAndSite) {
  const DeviceScope on(GetParam());
  for (const std::int64_t bad : {std::int64_t{3}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    const std::uint32_t line = __LINE__ + 1;
    const Tensor loss = cross_entropy(zeros({2, 3}), constant({std::int64_t{0}, bad}));
    try {
      item<float>(loss);
      FAIL() << "the value could be read";
    } catch (const KernelFailed& e) {
      EXPECT_EQ(e.site().line(), line);
      EXPECT_STREQ(e.site().file(), __FILE__);
      expect_message(e.message(), "op cross_entropy on ");
      expect_message(e.message(), "index " + std::to_string(bad) + " is out of range for axis 1 with size 3");
    }
  }
  clear_errors();
}

TEST_P(NeuralOnEachDevice, AnIgnoredLabelMayBeAnythingAndAMeanOfNothingIsNaN) {
  const DeviceScope on(GetParam());
  const Tensor logits = zeros({2, 4});
  EXPECT_FLOAT_EQ(item<float>(cross_entropy(logits, constant({-100, 1}), {.ignore_index = -100})), std::log(4.F));
  EXPECT_TRUE(std::isnan(item<float>(cross_entropy(logits, constant({-100, -100}), {.ignore_index = -100}))));
  EXPECT_EQ(item<float>(cross_entropy(logits, constant({-100, -100}), {.reduction = LossReduction::sum, .ignore_index = -100})),
            0.F);
}

// The sum of the losses alone is beyond what float16 holds.
TEST_P(NeuralOnEachDevice, TheMeanLossOfManyHalvesStaysInRange) {
  const DeviceScope on(GetParam());
  const Tensor logits = constant(std::vector<f16>(2 * 5000, f16(0.F)), {5000, 2}) + constant({f16(30.F), f16(0.F)});
  const Tensor loss = cross_entropy(logits, ones({5000}, DType::i64));
  EXPECT_FLOAT_EQ(static_cast<float>(item<f16>(loss)), 30.F);
}

TEST_P(NeuralOnEachDevice, AnIndexBeyondTheDepthSpoilsAOneHotVector) {
  const DeviceScope on(GetParam());
  for (const int bad : {-1, 4}) {
    const Tensor spoiled = one_hot(constant({{0, 1}, {2, bad}}), 4);
    expect_message(message_of([&] { read<float>(spoiled); }),
                   "index " + std::to_string(bad) + " is out of range for axis 2 with size 4");
  }
  EXPECT_EQ(read<float>(one_hot(constant({2, 0}), 3)), (std::vector{0.F, 0.F, 1.F, 1.F, 0.F, 0.F}));
  clear_errors();
}

TEST_P(NeuralOnEachDevice, LinesWithInfinitiesAndNaNsKeepThemToThemselves) {
  const DeviceScope on(GetParam());
  constexpr float inf = std::numeric_limits<float>::infinity();
  const Tensor x = constant({{1.F, -inf, 1.F, -inf}, {NAN, 0.F, 1.F, 2.F}, {-inf, -inf, -inf, -inf}, {0.F, inf, 0.F, 0.F}});
  const std::vector<float> shares = read<float>(softmax(x));
  EXPECT_EQ(std::vector<float>(shares.begin(), shares.begin() + 4), (std::vector{0.5F, 0.F, 0.5F, 0.F}));
  for (std::size_t i = 4; i < 16; ++i) EXPECT_TRUE(std::isnan(shares[i])) << i;
  const std::vector<float> sums = read<float>(cumsum(constant({{1.F, inf, 2.F, -inf, 5.F}, {1.F, 2.F, 3.F, 4.F, 5.F}}), 1));
  EXPECT_EQ(std::vector<float>(sums.begin(), sums.begin() + 3), (std::vector{1.F, inf, inf}));
  EXPECT_TRUE(std::isnan(sums[3]) && std::isnan(sums[4]));
  EXPECT_EQ(std::vector<float>(sums.begin() + 5, sums.end()), (std::vector{1.F, 3.F, 6.F, 10.F, 15.F}));
}

TEST_P(NeuralOnEachDevice, LinesWithoutElementsGiveNone) {
  const DeviceScope on(GetParam());
  EXPECT_EQ(softmax(zeros({3, 0})).shape(), (Shape{3, 0}));
  EXPECT_EQ(softmax(zeros({0, 3}), 0).shape(), (Shape{0, 3}));
  EXPECT_EQ(layer_norm(zeros({0, 3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(read<float>(cumulative_sum(zeros({2, 0}), 1, {.include_initial = true})), (std::vector{0.F, 0.F}));
  EXPECT_EQ(one_hot(zeros({2}, DType::i32), 0 + 1).shape(), (Shape{2, 1}));
  EXPECT_TRUE(std::isnan(item<float>(cross_entropy(zeros({0, 3}), zeros({0}, DType::i64)))));
  EXPECT_EQ(read<float>(conv2d(zeros({1, 0, 4, 4}), zeros({2, 0, 4, 4}))), (std::vector{0.F, 0.F}));
}

TEST(Neural, RunningSumsNameTheirAxisAndGiveNumbers) {
  EXPECT_THROW(cumulative_sum(zeros({2, 2})), ShapeError);
  EXPECT_THROW(cumulative_sum(zeros({})), ShapeError);
  EXPECT_THROW(cumsum(zeros({2, 2}), 2), ShapeError);
  EXPECT_THROW(cumsum(zeros({}), 0), ShapeError);
  EXPECT_THROW(cumulative_sum(zeros({2}), {.dtype = DType::boolean}), InvalidArgument);
  EXPECT_EQ(cumsum(zeros({2}, DType::u8), 0).dtype(), DType::i64);
  EXPECT_EQ(cumprod(zeros({2}, DType::f16), 0).dtype(), DType::f16);
  EXPECT_EQ(cumulative_sum(zeros({2}, DType::i64), {.dtype = DType::i8}).dtype(), DType::i8);
}

TEST(Neural, IntegersHaveNoSoftmax) {
  expect_message(message_of([] { softmax(zeros({2}, DType::i32)); }), "softmax: ");
  expect_message(message_of([] { layer_norm(zeros({2}, DType::i32)); }), "floating dtypes");
  EXPECT_THROW(softmax(zeros({2}), 1), ShapeError);
}

TEST(Neural, WeightsFitWhatIsNormalised) {
  EXPECT_THROW(layer_norm(zeros({2, 3}), zeros({2})), ShapeError);
  EXPECT_THROW(layer_norm(zeros({2, 3}), {}, zeros({2, 3})), ShapeError);
  const Tensor repeated = broadcast_to(zeros({3000, 1}), {3000, 1500});  // of which each row is worked on once
  EXPECT_THROW(layer_norm(repeated, zeros({1})), ShapeError);
  EXPECT_THROW(layer_norm(repeated, {}, zeros({3000, 1500})), ShapeError);
  expect_message(message_of([&] { layer_norm(repeated, zeros({1500}, DType::f64)); }), "the dtype of x");
  expect_message(message_of([] { softmax(broadcast_to(zeros({3000, 1}, DType::i32), {3000, 1500})); }), "floating dtypes");
  EXPECT_THROW(layer_norm(zeros({2, 3}), {}, {}, {.axes = 3}), ShapeError);
  EXPECT_THROW(layer_norm(zeros({2, 3}), {}, {}, {.axes = 0}), ShapeError);
  expect_message(message_of([] { layer_norm(zeros({2, 3}), zeros({3}, DType::f64)); }), "the dtype of x");
}

TEST(Neural, LabelsFitTheLogits) {
  EXPECT_THROW(cross_entropy(zeros({2, 3}), zeros({3}, DType::i64)), ShapeError);
  EXPECT_THROW(cross_entropy(zeros({}), zeros({}, DType::i64)), ShapeError);
  expect_message(message_of([] { cross_entropy(zeros({2, 3}), zeros({2})); }), "int32 or int64");
}

TEST(Neural, ProbabilitiesAndDepthsAreChecked) {
  EXPECT_THROW(dropout(zeros({2}), -0.1), InvalidArgument);
  EXPECT_THROW(dropout(zeros({2}), 1.5), InvalidArgument);
  EXPECT_THROW(dropout(zeros({2}), NAN), InvalidArgument);
  EXPECT_THROW(one_hot(constant({1}), -1), ShapeError);
  EXPECT_THROW(one_hot(constant({1}), 3, {.on = 300, .dtype = DType::u8}), InvalidArgument);
}

TEST(Neural, WindowsFitTheirImages) {
  expect_message(message_of([] { conv2d(zeros({1, 2, 4, 4}), zeros({3, 1, 3, 3})); }), "the channels of one group");
  expect_message(message_of([] { conv2d(zeros({1, 3, 4, 4}), zeros({4, 1, 3, 3}), {}, {.groups = 2}); }), "divide the channels");
  expect_message(message_of([] { conv2d(zeros({1, 2, 4, 4}), zeros({3, 2, 5, 3})); }), "the window spans 5 along the height");
  expect_message(message_of([] { conv2d(zeros({1, 2, 4, 4}), zeros({3, 2, 3, 3}), zeros({2})); }), "one number per channel");
  expect_message(message_of([] { conv2d(zeros({2, 4}), zeros({3, 2, 3, 3})); }), "(batch, channels, height, width)");
  expect_message(message_of([] {
                   max_pool2d(zeros({1, 2, 4, 4}), 2, {.stride = Size2d(0)});
                 }),
                 "stride along the height cannot be 0");
  expect_message(message_of([] { max_pool2d(zeros({1, 2, 4, 4}), 2, {.padding = 2}); }), "at most half the kernel");
  expect_message(message_of([] { avg_pool2d(zeros({1, 2, 4, 4}, DType::i32), 2); }), "floating dtypes");
  EXPECT_EQ(max_pool2d(zeros({2, 5, 5}), 2, {.ceil_mode = true}).shape(), (Shape{2, 3, 3}));
}

}  // namespace
}  // namespace tutti
