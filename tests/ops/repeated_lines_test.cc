// Functions along an axis give an operand whose lines are one in memory the values of a dense one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/on_each_device.h"

namespace tutti {
namespace {

class RepeatedLinesOnEachDevice : public testing_ops::OnEachDevice {};
INSTANTIATE_TEST_SUITE_P(Each, RepeatedLinesOnEachDevice, testing_ops::each_device(), testing_ops::name_of_device);

struct Named {
  const char* name;
  Tensor (*call)(const Tensor& x, std::int64_t axis);
};
const Named functions[] = {
    {"cumsum", [](const Tensor& x, std::int64_t axis) { return cumsum(x, axis); }},
    {"cumprod", [](const Tensor& x, std::int64_t axis) { return cumprod(x, axis); }},
    {"cumulative_sum", [](const Tensor& x, std::int64_t axis) { return cumulative_sum(x, axis, {.include_initial = true}); }},
    {"softmax", [](const Tensor& x, std::int64_t axis) { return softmax(x, axis); }},
    {"log_softmax", [](const Tensor& x, std::int64_t axis) { return log_softmax(x, axis); }},
    {"sort", [](const Tensor& x, std::int64_t axis) { return sort(x, axis, {.descending = true}); }},
    {"argsort", [](const Tensor& x, std::int64_t axis) { return cast(argsort(x, axis), DType::f32); }}};

// Lines and columns are added up in different orders.
void expect_alike(const std::vector<float>& got, const std::vector<float>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], wanted[i], 0x1p-22F * std::max(1.F, std::abs(wanted[i]))) << "element " << i;
}

TEST_P(RepeatedLinesOnEachDevice, ValuesAreThoseOfADenseOperand) {
  const Tensor base = sin(reshape(cast(arange(0, 12), DType::f32), {3, 1, 4}));
  const std::vector<Tensor> operands{broadcast_to(base, {3, 5, 4}), broadcast_to(slice(base, 0, {.stop = 1}), {3, 5, 4}),
                                     broadcast_to(slice(base, 2, {.stop = 1}), {2, 3, 5, 4}),
                                     broadcast_to(permute_dims(base, {2, 1, 0}), {4, 6, 3})};
  for (const Tensor& x : operands) {
    const Tensor dense = contiguous(x);
    for (std::int64_t axis = -1; axis < static_cast<std::int64_t>(x.rank()); ++axis) {
      for (const Named& function : functions) {
        SCOPED_TRACE(std::string(function.name) + " of " + to_string(x.strides()) + " along " + std::to_string(axis));
        const Tensor got = function.call(x, axis);
        EXPECT_EQ(got.shape(), function.call(dense, axis).shape());
        expect_alike(read<float>(got), read<float>(function.call(dense, axis)));
      }
    }
    const Tensor weight = cast(arange(0, x.shape()[x.rank() - 1]), DType::f32);
    EXPECT_EQ(read<float>(layer_norm(x, weight, weight, {})), read<float>(layer_norm(dense, weight, weight, {})));
    EXPECT_EQ(read<float>(layer_norm(x, {}, {}, {.axes = 2})), read<float>(layer_norm(dense, {}, {}, {.axes = 2})));
  }
}

TEST_P(RepeatedLinesOnEachDevice, LargeOperandsThatRepeatAreWrittenOutWhole) {
  const std::int64_t side = 2100;  // more than 4 Mi in all
  const Tensor column = slice(reshape(cast(arange(0, side * 3), DType::f32), {side, 3}), 1, {.start = 1, .stop = 2});
  const Tensor x = transpose(broadcast_to(column, {side, side}));
  const Tensor dense = contiguous(x);
  EXPECT_TRUE(dense.is_contiguous());
  EXPECT_EQ(dense.strides(), (Dims{side, 1}));
  EXPECT_EQ(item<bool>(all(equal(dense, x))), true);
  EXPECT_EQ(read<float>(slice(slice(dense, 0, {.start = side - 1}), 1, {.start = side - 2})),
            (std::vector<float>{static_cast<float>(3 * (side - 2) + 1), static_cast<float>(3 * (side - 1) + 1)}));
}

}  // namespace
}  // namespace tutti
