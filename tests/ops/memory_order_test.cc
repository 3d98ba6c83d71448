// How the result of an element-wise op lies: transposed like its inputs, in row order otherwise.
#include <gtest/gtest.h>

#include "ops/on_each_device.h"

namespace tutti {
namespace {

class MemoryOrderOnEachDevice : public testing_ops::OnEachDevice {};
INSTANTIATE_TEST_SUITE_P(Each, MemoryOrderOnEachDevice, testing_ops::each_device(), testing_ops::name_of_device);

Tensor counted(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(*element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return from_bytes(DType::f32, shape, std::as_bytes(std::span(values)));
}

TEST_P(MemoryOrderOnEachDevice, ATransposedInputGivesAResultThatIsTransposedAlike) {
  const Tensor x = transpose(counted({2, 3}));
  const Tensor y = x + 1;
  EXPECT_EQ(y.shape(), (Shape{3, 2}));
  EXPECT_EQ(y.strides(), x.strides());
  EXPECT_EQ(read<float>(y), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST_P(MemoryOrderOnEachDevice, AnyOrderOfTheAxesIsTakenOver) {
  const Tensor x = permute_dims(counted({2, 3, 4}), {2, 0, 1});
  const Tensor y = x * x;
  EXPECT_EQ(y.strides(), x.strides());
  EXPECT_EQ(read<float>(contiguous(y)), read<float>(contiguous(x) * contiguous(x)));
}

TEST_P(MemoryOrderOnEachDevice, RowOrderWinsWhereAnInputHasIt) {
  const Tensor transposed = transpose(counted({3, 3}));
  const Tensor rows = counted({3, 3});
  for (const Tensor& y : {transposed + rows, rows + transposed}) {
    EXPECT_TRUE(y.is_contiguous());
    EXPECT_EQ(read<float>(y), (std::vector<float>{0, 4, 8, 4, 8, 12, 8, 12, 16}));
  }
}

TEST_P(MemoryOrderOnEachDevice, BroadcastAndSlicedInputsHaveNoSay) {
  const Tensor transposed = transpose(counted({2, 3}));
  EXPECT_EQ((transposed + constant({10.F, 20.F})).strides(), transposed.strides());
  EXPECT_EQ(read<float>(transposed + constant({10.F, 20.F})), (std::vector<float>{10, 23, 11, 24, 12, 25}));
  const Tensor gaps = slice(transpose(counted({4, 3})), 1, {.step = 2});
  EXPECT_TRUE((gaps + 0).is_contiguous());
  EXPECT_EQ(read<float>(gaps + 0), (std::vector<float>{0, 6, 1, 7, 2, 8}));
  const Tensor backwards = slice(transpose(counted({2, 3})), 0, {.step = -1});
  EXPECT_EQ(read<float>(backwards + 0), (std::vector<float>{2, 5, 1, 4, 0, 3}));
}

TEST_P(MemoryOrderOnEachDevice, MemoryOfATransposedTensorThatIsGivenAwayIsReused) {
  Tensor x = transpose(counted({64, 32}) + 0);
  x.sync();
  const std::byte* before = x.impl().kernel_address();
  const Tensor y = std::move(x) + 1;
  EXPECT_EQ(y.impl().kernel_address(), before);
}

TEST_P(MemoryOrderOnEachDevice, BroadcastInputsGiveAContiguousResult) {
  const Tensor column = broadcast_to(counted({2, 1}), {2, 3});
  const Tensor row = broadcast_to(counted({1, 3}), {2, 3});
  EXPECT_TRUE((column + row).is_contiguous());
  EXPECT_EQ(read<float>(column + row), (std::vector<float>{0, 1, 2, 1, 2, 3}));
  EXPECT_TRUE((counted({2, 1}) + counted({1, 3})).is_contiguous());
  EXPECT_TRUE(full({2, 3}, 4.F, DType::f32).is_contiguous());
}

TEST_P(MemoryOrderOnEachDevice, AVariableOfABroadcastHasAPlaceForEveryElement) {
  Variable v(negative(broadcast_to(counted({2, 1}), {2, 3})));
  v.assign_add(counted({2, 3}));
  EXPECT_EQ(read<float>(v.value()), (std::vector<float>{0, 1, 2, 2, 3, 4}));
}

}  // namespace
}  // namespace tutti
