// Element-wise ops give right values for every dtype and every way of looking at memory, on every backend.
#include <cmath>

#include "conformance/backend.h"
#include "conformance/samples.h"

namespace tutti::conformance {

class ElementWise : public OnBackend {};
TUTTI_ON_EVERY_BACKEND(ElementWise);

TEST_P(ElementWise, AddsEveryDtypeSeenThroughEveryView) {
  for (const DType dtype : all_dtypes) {
    for (const Sample& a : three_by_four(dtype)) {
      for (const Sample& b : three_by_four(dtype, 4)) {
        SCOPED_TRACE(testing::Message() << to_string(dtype) << ": " << a.name << " + " << b.name);
        const Tensor c = add(a.tensor, b.tensor);
        EXPECT_EQ(c.dtype(), dtype);
        EXPECT_EQ(c.shape(), (Shape{3, 4}));
        EXPECT_EQ(read_values(c), map(a.values, b.values, [&](double x, double y) {
                    return dtype == DType::boolean ? std::min(1.0, x + y) : x + y;
                  }));
      }
    }
  }
}

TEST_P(ElementWise, MultipliesEveryDtypeSeenThroughEveryView) {
  for (const DType dtype : all_dtypes) {
    for (const Sample& a : three_by_four(dtype)) {
      for (const Sample& b : three_by_four(dtype, 9)) {
        SCOPED_TRACE(testing::Message() << to_string(dtype) << ": " << a.name << " * " << b.name);
        EXPECT_EQ(read_values(multiply(a.tensor, b.tensor)), map(a.values, b.values, [](double x, double y) { return x * y; }));
      }
    }
  }
}

TEST_P(ElementWise, CutsOffWhatIsNegative) {
  for (const DType dtype : all_dtypes) {
    if (dtype == DType::boolean) continue;
    for (const Sample& x : three_by_four(dtype)) {
      SCOPED_TRACE(testing::Message() << to_string(dtype) << ": " << x.name);
      EXPECT_EQ(read_values(relu(x.tensor)), map(x.values, [](double v) { return std::max(v, 0.0); }));
    }
  }
}

TEST_P(ElementWise, RaisesEToThePowerOfEveryElement) {
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::f16, 1e-3}, {DType::bf16, 8e-3}, {DType::f32, 3e-7}, {DType::f64, 1e-15}}) {
    for (const Sample& x : three_by_four(dtype)) {
      SCOPED_TRACE(testing::Message() << to_string(dtype) << ": " << x.name);
      const std::vector<double> got = read_values(exp(x.tensor));
      ASSERT_EQ(got.size(), x.values.size());
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i] / std::exp(x.values[i]), 1.0, tolerance);
    }
  }
}

TEST_P(ElementWise, ChoosesByACondition) {
  for (const DType dtype : all_dtypes) {
    for (const Sample& condition : three_by_four(DType::boolean, 2)) {
      for (const Sample& a : three_by_four(dtype, 1)) {
        const Sample b = three_by_four(dtype, 5).at(3);
        SCOPED_TRACE(testing::Message() << to_string(dtype) << ": where " << condition.name << " " << a.name);
        std::vector<double> expected;
        for (std::size_t i = 0; i < 12; ++i) expected.push_back(condition.values[i] != 0 ? a.values[i] : b.values[i]);
        EXPECT_EQ(read_values(where(condition.tensor, a.tensor, b.tensor)), expected);
      }
    }
  }
}

TEST_P(ElementWise, AddsManyTensorsInOnePass) {
  for (const DType dtype : {DType::i32, DType::i64, DType::f16, DType::f32, DType::f64}) {
    SCOPED_TRACE(to_string(dtype));
    std::vector<Tensor> tensors;
    std::vector<double> expected(12, 0.0);
    for (const Sample& each : three_by_four(dtype, 3)) {
      for (int twice = 0; twice < 2; ++twice) tensors.push_back(each.tensor);
      expected = map(expected, each.values, [](double sum, double x) { return sum + 2 * x; });
    }
    EXPECT_EQ(read_values(add_n(tensors)), expected);
  }
}

TEST_P(ElementWise, ConvertsBetweenAllDtypes) {
  for (const DType from : all_dtypes) {
    for (const DType to : all_dtypes) {
      for (const Sample& x : three_by_four(from)) {
        if (to == DType::u8 && kind_of(from) != DTypeKind::boolean && from != DType::u8) continue;  // negative values: below
        SCOPED_TRACE(testing::Message() << to_string(from) << " to " << to_string(to) << ": " << x.name);
        const Tensor y = cast(x.tensor, to);
        EXPECT_EQ(y.dtype(), to);
        EXPECT_EQ(read_values(y), map(x.values, [&](double v) { return to == DType::boolean ? double(v != 0) : v; }));
      }
    }
  }
}

TEST_P(ElementWise, CutsOffTheFractionAndStaysInRangeWhenFloatsBecomeIntegers) {
  const Tensor x = constant({-1.9F, -0.5F, 0.5F, 1.9F, 3e9F, -3e9F});
  EXPECT_EQ(read<std::int32_t>(cast(x, DType::i32)), (std::vector<std::int32_t>{-1, 0, 0, 1, 2147483647, -2147483647 - 1}));
  EXPECT_EQ(read<std::uint8_t>(cast(x, DType::u8)), (std::vector<std::uint8_t>{0, 0, 0, 1, 255, 0}));
}

TEST_P(ElementWise, BroadcastsLikeNumPy) {
  const Tensor column = constant({{1.F}, {2.F}, {3.F}});
  const Tensor row = constant({10.F, 20.F});
  const Tensor table = column + row;
  EXPECT_EQ(table.shape(), (Shape{3, 2}));
  EXPECT_EQ(read<float>(table), (std::vector<float>{11, 21, 12, 22, 13, 23}));
  EXPECT_EQ(read<float>(add(zeros({2, 1, 2}), row)), (std::vector<float>{10, 20, 10, 20}));
  EXPECT_EQ(read<float>(row * constant(3.F)), (std::vector<float>{30, 60}));
  EXPECT_THROW(add(zeros({2, 3}), zeros({2})), ShapeError);
}

TEST_P(ElementWise, PromotesAsTheArrayApiSays) {
  const struct {
    DType a, b, both;
  } table[] = {
      {DType::boolean, DType::i8, DType::i8},   {DType::u8, DType::i8, DType::i16},    {DType::i32, DType::i64, DType::i64},
      {DType::i64, DType::f32, DType::f32},     {DType::f16, DType::bf16, DType::f32}, {DType::f32, DType::f64, DType::f64},
      {DType::boolean, DType::f16, DType::f16}, {DType::u8, DType::i16, DType::i16},
  };
  for (const auto& [a, b, both] : table) {
    for (const auto& [left, right] : {std::pair{a, b}, {b, a}}) {
      SCOPED_TRACE(testing::Message() << to_string(left) << " + " << to_string(right));
      const Tensor sum = make(left, {2}, {1, 0}) + make(right, {2}, {1, 1});
      EXPECT_EQ(sum.dtype(), both);
      EXPECT_EQ(read_values(sum), (std::vector<double>{2, 1}));
    }
  }
}

TEST_P(ElementWise, TakesNumbersAsWeakOperands) {
  const Tensor bytes = constant({std::uint8_t{1}, std::uint8_t{2}});
  EXPECT_EQ((bytes + 3).dtype(), DType::u8);
  EXPECT_EQ(read<std::uint8_t>(3 * bytes), (std::vector<std::uint8_t>{3, 6}));
  EXPECT_EQ((bytes + 0.5).dtype(), DType::f32);
  EXPECT_EQ(read<float>(bytes * 0.5), (std::vector<float>{0.5, 1}));
  EXPECT_EQ(read<float>(2.0 * constant({1.5F})), (std::vector<float>{3}));
  EXPECT_THROW(bytes + 256, InvalidArgument);
}

TEST_P(ElementWise, WorksOnTensorsOfManySizesAndRanks) {
  for (const std::int64_t size : {1, 2, 3, 7, 8, 31, 64, 65, 1000, 4097}) {
    SCOPED_TRACE(size);
    std::vector<std::int32_t> values;
    for (std::int64_t i = 0; i < size; ++i) values.push_back(static_cast<std::int32_t>(i));
    const Tensor x = constant(values, {size});
    std::vector<std::int32_t> expected;
    for (const std::int32_t v : values) expected.push_back(3 * v + 1);
    EXPECT_EQ(read<std::int32_t>(x * 3 + 1), expected);
    EXPECT_EQ(read<std::int32_t>(x + x + x + 1), expected);
  }
  const Tensor eight = ones({1, 2, 1, 2, 1, 2, 1, 2}, DType::i64);
  EXPECT_EQ(read<std::int64_t>(eight + eight), std::vector<std::int64_t>(16, 2));
}

TEST_P(ElementWise, FillsAndDraws) {
  EXPECT_EQ(read<float>(zeros({3})), (std::vector<float>(3, 0)));
  EXPECT_EQ(read<std::int16_t>(ones({2, 2}, DType::i16)), (std::vector<std::int16_t>(4, 1)));
  EXPECT_EQ(read<double>(full({2}, 2.5, DType::f64)), (std::vector<double>(2, 2.5)));
  EXPECT_EQ(read<bool>(full({2}, true, DType::boolean)), (std::vector<bool>(2, true)));
  const std::vector<float> drawn = read<float>(uniform({1000}, {.key = 7, .low = -1, .high = 3}));
  double mean = 0;
  for (const float v : drawn) {
    EXPECT_GE(v, -1);
    EXPECT_LT(v, 3);
    mean += v / 1000;
  }
  EXPECT_NEAR(mean, 1.0, 0.2);
  EXPECT_EQ(drawn, read<float>(uniform({1000}, {.key = 7, .low = -1, .high = 3})));
  EXPECT_NE(drawn, read<float>(uniform({1000}, {.key = 8, .low = -1, .high = 3})));
}

TEST_P(ElementWise, DrawsTheSameNumbersOnEveryDevice) {
  const std::vector<float> here = read<float>(uniform({257}, {.key = 3, .counter = 11}));
  for (const std::string& name : all_devices()) {
    const DeviceScope on(name);
    EXPECT_EQ(read<float>(uniform({257}, {.key = 3, .counter = 11})), here) << name;
  }
}

}  // namespace tutti::conformance
