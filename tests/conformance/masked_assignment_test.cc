// x[mask] = values, with as many values as the mask has true elements or more of them, decided on the device.
#include "conformance/backend.h"

namespace tutti::conformance {

class MaskedAssignment : public OnBackend {
 protected:
  void TearDown() override { clear_errors(); }
};
TUTTI_ON_EVERY_BACKEND(MaskedAssignment);

TEST_P(MaskedAssignment, TakesTheFirstValuesInRowOrderAndLeavesTheRest) {
  const Tensor x = constant({{1, 2, 3}, {4, 5, 6}}) * 1;
  const Tensor mask = constant({{false, true, true}, {true, false, false}});
  EXPECT_EQ(read<std::int32_t>(masked_scatter(x, mask, constant({{70, 80}, {90, 100}}))),
            (std::vector<std::int32_t>{1, 70, 80, 90, 5, 6}));
  EXPECT_EQ(read<std::int32_t>(masked_scatter(x, constant({true, false, true}), arange(4, {.dtype = DType::i32}))),
            (std::vector<std::int32_t>{0, 2, 1, 2, 5, 3}))
      << "a mask that broadcasts";
  EXPECT_EQ(read<std::int32_t>(x), (std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(item<float>(masked_scatter(constant(1.F), constant(true), constant({2.F, 3.F}))), 2.F);
}

TEST_P(MaskedAssignment, WithTooFewValuesSpoilsTheResult) {
  const Tensor x = zeros({4}) + 1;
  const Tensor out = masked_scatter(x, x > 0, constant({1.F, 2.F, 3.F}));
  EXPECT_THROW((void)read<float>(out), AsyncError);
  clear_errors();
  const Tensor none = masked_scatter(x, x > 0, zeros({0}));
  EXPECT_THROW((void)read<float>(none), AsyncError);
  clear_errors();
  EXPECT_EQ(read<float>(masked_scatter(x, x > 1, zeros({0}))), std::vector<float>(4, 1.F)) << "none are needed";
  EXPECT_EQ(masked_scatter(zeros({0}), zeros({0}, DType::boolean), zeros({0})).shape(), Shape({0}));
}

TEST_P(MaskedAssignment, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({2, 3});
  EXPECT_THROW(masked_scatter(x, ones({2, 3}), zeros({6})), DTypeError);
  EXPECT_THROW(masked_scatter(x, ones({4, 2, 3}, DType::boolean), zeros({24})), ShapeError);
  EXPECT_THROW(masked_scatter(x, ones({2}, DType::boolean), zeros({6})), ShapeError);
  EXPECT_THROW(masked_scatter(x, ones({2, 3}, DType::boolean), zeros({6}, DType::f64)), DTypeError);
}

}  // namespace tutti::conformance
