// Tensors as text: what a user sees, sentence by sentence; numpy_print_test.cc compares with NumPy itself.
#include "tutti/tensor/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace tutti {
namespace {

template <class T>
const std::byte* bytes(const std::vector<T>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

template <class T>
std::string print(const std::vector<T>& values, const Shape& shape) {
  return format_elements(bytes(values), dtype_of<T>, shape);
}

template <class T>
std::string print(const std::vector<T>& values) {
  return print(values, Shape{static_cast<std::int64_t>(values.size())});
}

std::string print_bools(const std::vector<std::uint8_t>& values, const Shape& shape) {
  return format_elements(bytes(values), DType::boolean, shape);
}

TEST(Printing, LeavesThePointAndDropsTheZerosOfWholeNumbers) {
  EXPECT_EQ(print<float>({22, 28, 49, 64}, {2, 2}), "[[22. 28.]\n [49. 64.]]");
}

TEST(Printing, AlignsThePointsOfAColumn) { EXPECT_EQ(print<double>({0.5, 10, -1.25}), "[ 0.5  10.   -1.25]"); }

TEST(Printing, GivesTheShortestDigitsThatNameTheValue) {
  EXPECT_EQ(print<float>({0.1F, 0.2F}), "[0.1 0.2]");
  EXPECT_EQ(print<double>({0.1, 0.2}), "[0.1 0.2]");
  EXPECT_EQ(print<f16>({f16(0.1F), f16(3.14159F)}), "[0.1  3.14]");
}

TEST(Printing, RoundsToEightPlaces) { EXPECT_EQ(print<double>({1.0 / 3, 2.0 / 3}), "[0.33333333 0.66666667]"); }

TEST(Printing, SwitchesToScientificForLargeSmallAndSpreadValues) {
  EXPECT_EQ(print<double>({1e8, 1}), "[1.e+08 1.e+00]");
  EXPECT_EQ(print<double>({1e-5}), "[1.e-05]");
  EXPECT_EQ(print<double>({1, 1000}), "[   1. 1000.]");
  EXPECT_EQ(print<double>({1, 1001}), "[1.000e+00 1.001e+03]");
  EXPECT_EQ(print<double>({1e100, 0}), "[1.e+100 0.e+000]");
}

TEST(Printing, ShowsNansInfinitiesAndNegativeZeros) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(print<float>({NAN, inf, -inf, 1.5F, -0.0F}), "[ nan  inf -inf  1.5 -0. ]");
  EXPECT_EQ(print<float>({NAN}), "[nan]");
}

TEST(Printing, AlignsIntegersToTheRight) {
  EXPECT_EQ(print<std::int32_t>({1, -20, 300}), "[  1 -20 300]");
  EXPECT_EQ(print<std::uint8_t>({65, 255}), "[ 65 255]");
  EXPECT_EQ(print<std::int64_t>({std::numeric_limits<std::int64_t>::min()}), "[-9223372036854775808]");
}

TEST(Printing, WritesBoolsInPythonsWords) {
  EXPECT_EQ(print_bools({1, 0}, {2}), "[ True False]");
  EXPECT_EQ(print_bools({1}, {}), "True");
}

TEST(Printing, GivesABareScalarForRankZero) {
  EXPECT_EQ(print<double>({3.5}, {}), "3.5");
  EXPECT_EQ(print<float>({5}, {}), "5.0");
  EXPECT_EQ(print<double>({1.0 / 3}, {}), "0.3333333333333333");
  EXPECT_EQ(print<double>({1e16}, {}), "1e+16");
  EXPECT_EQ(print<std::int32_t>({-7}, {}), "-7");
}

TEST(Printing, WritesNothingBetweenTheBracketsOfAnEmptyTensor) {
  EXPECT_EQ(print<float>({}, {0}), "[]");
  EXPECT_EQ(print<float>({}, {3, 0, 2}), "[]");
}

TEST(Printing, SetsMatricesOfAStackApartByABlankLine) {
  EXPECT_EQ(print<std::int32_t>({1, 2, 3, 4}, {2, 1, 2}), "[[[1 2]]\n\n [[3 4]]]");
}

TEST(Printing, WrapsLongRowsBefore75Columns) {
  std::vector<std::int32_t> values(30);
  std::iota(values.begin(), values.end(), 0);
  EXPECT_EQ(print(values),
            "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
            " 24 25 26 27 28 29]");
}

TEST(Printing, ShowsTheCornersOfMoreThanAThousandElements) {
  std::vector<std::int32_t> values(1001);
  std::iota(values.begin(), values.end(), 0);
  EXPECT_EQ(print(values), "[   0    1    2 ...  998  999 1000]");
  values.resize(1000);
  EXPECT_EQ(print(values).find("..."), std::string::npos);
  EXPECT_EQ(print(std::vector<std::int32_t>(1001 * 2, 1), {1001, 2}), "[[1 1]\n [1 1]\n [1 1]\n ...\n [1 1]\n [1 1]\n [1 1]]");
}

TEST(Printing, MeasuresOnlyTheElementsItShows) {
  std::vector<std::int32_t> values(2000, 1);
  values[1000] = 123456;
  EXPECT_EQ(print(values), "[1 1 1 ... 1 1 1]");
}

TEST(Printing, TakesBfloat16AsTheFloat32ItStandsFor) {
  EXPECT_EQ(print<bf16>({bf16(1.5F), bf16(0.1F)}), "[1.5        0.10009766]");
}

TEST(TensorRepr, PutsScalarsAndRowsOnOneLine) {
  const std::vector<float> five{5};
  EXPECT_EQ(tensor_repr(bytes(five), DType::f32, {}), "tutti.Tensor(5.0, shape=(), dtype=float32)");
  const std::vector<std::int32_t> row{1, 2, 3};
  EXPECT_EQ(tensor_repr(bytes(row), DType::i32, {3}), "tutti.Tensor([1 2 3], shape=(3,), dtype=int32)");
  EXPECT_EQ(tensor_repr(nullptr, DType::f32, {0, 3}), "tutti.Tensor([], shape=(0, 3), dtype=float32)");
}

TEST(TensorRepr, StartsSeveralLinesOnALineOfTheirOwn) {
  const std::vector<float> values{22, 28, 49, 64};
  EXPECT_EQ(tensor_repr(bytes(values), DType::f32, {2, 2}),
            "tutti.Tensor(\n[[22. 28.]\n [49. 64.]], shape=(2, 2), dtype=float32)");
}

}  // namespace
}  // namespace tutti
