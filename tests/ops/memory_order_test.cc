// How the result of an element-wise op lies: like inputs that are turned, in row order otherwise.
#include <gtest/gtest.h>

#include "tutti/tutti.h"

namespace tutti {
namespace {

class MemoryOrderOnEachDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    simulate_gpus(1);
    scope_.emplace(GetParam());
  }
  std::optional<DeviceScope> scope_;
};
INSTANTIATE_TEST_SUITE_P(Each, MemoryOrderOnEachDevice, testing::Values("CPU:0", "GPU:0"),
                         [](const auto& name) { return std::string(name.param).substr(0, 3); });

Tensor counted(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(*element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return from_bytes(DType::f32, shape, std::as_bytes(std::span(values)));
}

TEST_P(MemoryOrderOnEachDevice, ATurnedInputGivesAResultThatIsTurnedAlike) {
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
  const Tensor turned = transpose(counted({3, 3}));
  const Tensor rows = counted({3, 3});
  for (const Tensor& y : {turned + rows, rows + turned}) {
    EXPECT_TRUE(y.is_contiguous());
    EXPECT_EQ(read<float>(y), (std::vector<float>{0, 4, 8, 4, 8, 12, 8, 12, 16}));
  }
}

TEST_P(MemoryOrderOnEachDevice, BroadcastAndSlicedInputsHaveNoSay) {
  const Tensor turned = transpose(counted({2, 3}));
  EXPECT_EQ((turned + constant({10.F, 20.F})).strides(), turned.strides());
  EXPECT_EQ(read<float>(turned + constant({10.F, 20.F})), (std::vector<float>{10, 23, 11, 24, 12, 25}));
  const Tensor gaps = slice(transpose(counted({4, 3})), 1, {.step = 2});
  EXPECT_TRUE((gaps + 0).is_contiguous());
  EXPECT_EQ(read<float>(gaps + 0), (std::vector<float>{0, 6, 1, 7, 2, 8}));
  const Tensor backwards = slice(transpose(counted({2, 3})), 0, {.step = -1});
  EXPECT_EQ(read<float>(backwards + 0), (std::vector<float>{2, 5, 1, 4, 0, 3}));
}

TEST_P(MemoryOrderOnEachDevice, MemoryOfATurnedTensorThatIsGivenAwayIsReused) {
  Tensor x = transpose(counted({64, 32}) + 0);
  x.sync();
  const std::byte* before = x.impl().kernel_address();
  const Tensor y = std::move(x) + 1;
  EXPECT_EQ(y.impl().kernel_address(), before);
}

}  // namespace
}  // namespace tutti
