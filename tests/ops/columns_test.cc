// Functions along an axis that others lie behind, or that lies so in a transposed operand, give what they give for lines; those
// of a line of equal elements give what they give for any line.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/on_each_device.h"

namespace tutti {
namespace {

class ColumnsOnEachDevice : public testing_ops::OnEachDevice {};
INSTANTIATE_TEST_SUITE_P(Each, ColumnsOnEachDevice, testing_ops::each_device(), testing_ops::name_of_device);

using Line = std::vector<double>;

struct Named {
  const char* name;
  Tensor (*call)(const Tensor& x, std::int64_t axis);
  Line (*judge)(const Line& x);
  bool is_float_only;
};

Line log_softmax_of(const Line& x) {
  double sum = 0;
  for (const double each : x) sum += std::exp(each);
  Line out;
  for (const double each : x) out.push_back(each - std::log(sum));
  return out;
}
Line softmax_of(const Line& x) {
  Line out = log_softmax_of(x);
  for (double& each : out) each = std::exp(each);
  return out;
}
Line sums_of(const Line& x) {
  Line out;
  double sum = 0;
  for (const double each : x) out.push_back(sum += each);
  return out;
}
Line sums_from_nothing(const Line& x) {
  Line out = sums_of(x);
  out.insert(out.begin(), 0);
  return out;
}
Line products_of(const Line& x) {
  Line out;
  double product = 1;
  for (const double each : x) out.push_back(product *= each);
  return out;
}

const Named functions[] = {
    {"softmax", [](const Tensor& x, std::int64_t axis) { return softmax(x, axis); }, softmax_of, true},
    {"log_softmax", [](const Tensor& x, std::int64_t axis) { return log_softmax(x, axis); }, log_softmax_of, true},
    {"cumsum", [](const Tensor& x, std::int64_t axis) { return cumsum(x, axis); }, sums_of, false},
    {"cumulative_sum", [](const Tensor& x, std::int64_t axis) { return cumulative_sum(x, axis, {.include_initial = true}); },
     sums_from_nothing, false},
    {"cumprod", [](const Tensor& x, std::int64_t axis) { return cumprod(x, axis); }, products_of, false}};

// Whole numbers of either sign, 1 or 2 away from 0: sums and products of a few are exact.
Tensor drawn(const Shape& shape, DType dtype, std::mt19937_64& random) {
  std::vector<float> elements(static_cast<std::size_t>(*element_count(shape)));
  for (float& each : elements) each = (random() % 2 == 0 ? 1.F : -1.F) * static_cast<float>(random() % 8 == 0 ? 2 : 1);
  return cast(constant(elements, shape), dtype);
}

void expect_lines(const Tensor& x, const Tensor& got, std::int64_t axis, Line (*judge)(const Line&), double tolerance) {
  const Tensor in = contiguous(moveaxis(cast(x, DType::f64), {axis}, {-1}));
  const Tensor out = contiguous(moveaxis(cast(got, DType::f64), {axis}, {-1}));
  const std::vector<double> elements = read<double>(in);
  const std::vector<double> results = read<double>(out);
  const auto length = static_cast<std::size_t>(in.shape()[in.rank() - 1]);
  const auto step = static_cast<std::size_t>(out.shape()[out.rank() - 1]);
  ASSERT_EQ(results.size(), elements.size() / length * step);
  for (std::size_t line = 0; line < elements.size() / length; ++line) {
    const Line want = judge({elements.begin() + static_cast<std::ptrdiff_t>(line * length),
                             elements.begin() + static_cast<std::ptrdiff_t>((line + 1) * length)});
    ASSERT_EQ(want.size(), step);
    for (std::size_t i = 0; i < step; ++i)
      ASSERT_NEAR(results[line * step + i], want[i], tolerance * std::max(1.0, std::abs(want[i])))
          << "line " << line << ", " << i;
  }
}

TEST_P(ColumnsOnEachDevice, ColumnsOfAnyOperandGiveWhatLinesGive) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i8, DType::i32, DType::i64, DType::u8}) {
    for (const Shape& shape : {Shape{20, 70}, Shape{3, 9, 100}, Shape{2, 12, 5, 16}, Shape{9, 2100}}) {
      const Tensor rows = drawn(shape, dtype, random);
      for (std::size_t axis = 0; axis < rows.rank(); ++axis) {
        Dims transposed;  // the axis last
        for (std::size_t i = 0; i < rows.rank(); ++i)
          transposed.push_back(static_cast<std::int64_t>((axis + 1 + i) % rows.rank()));
        for (const Named& function : functions) {
          if (function.is_float_only && !is_floating(dtype)) continue;
          if (function.judge == products_of && (rows.shape()[axis] > 12 || dtype == DType::u8)) continue;
          SCOPED_TRACE(std::string(function.name) + " of " + std::string(to_string(dtype)) + " " + to_string(shape) + " along " +
                       std::to_string(axis));
          const double tolerance = dtype == DType::bf16 ? 0x1p-6 : dtype == DType::f16 ? 0x1p-9 : 1e-5;
          expect_lines(rows, function.call(rows, static_cast<std::int64_t>(axis)), static_cast<std::int64_t>(axis),
                       function.judge, tolerance);
          const Tensor other = permute_dims(rows, transposed);
          expect_lines(other, function.call(other, -1), -1, function.judge, tolerance);
        }
      }
    }
  }
}

TEST_P(ColumnsOnEachDevice, LayerNormOfTransposedRowsIsThatOfRows) {
  std::mt19937_64 random(7);
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    for (const std::int64_t axes : {1, 2}) {
      // The last axes lie outermost, or between others.
      for (const Dims& order : {Dims{2, 3, 0, 1}, Dims{1, 2, 3, 0}}) {
        const Tensor x = permute_dims(drawn({6, 5, 8, 16}, dtype, random), order);
        Shape normalised;
        for (std::size_t i = 4 - static_cast<std::size_t>(axes); i < 4; ++i) normalised.push_back(x.shape()[i]);
        const Tensor weight = drawn(normalised, dtype, random);
        const Tensor bias = drawn(normalised, dtype, random);
        const double tolerance = dtype == DType::bf16 ? 0x1p-6 : 1e-5;
        for (const bool is_affine : {false, true}) {
          const LayerNormOptions options{.axes = axes};
          const Tensor got = layer_norm(x, is_affine ? weight : Tensor{}, is_affine ? bias : Tensor{}, options);
          const Tensor want = layer_norm(contiguous(x), is_affine ? weight : Tensor{}, is_affine ? bias : Tensor{}, options);
          EXPECT_LE(item<double>(max(abs(subtract(cast(got, DType::f64), cast(want, DType::f64))))), 4 * tolerance);
        }
      }
    }
  }
}

TEST_P(ColumnsOnEachDevice, LinesOfEqualElementsGiveWhatAnyLineGives) {
  const std::int64_t length = 1500;
  const float infinity = INFINITY;
  const Tensor few = constant({{2.F}, {-0.5F}, {infinity}, {NAN}, {0.F}});
  const Tensor column = tile(few, {1000, 1});  // so many that it pays to work on each once
  const Tensor x = broadcast_to(column, {5000, length});
  const Tensor dense = contiguous(slice(x, 0, {.stop = 5}));
  const auto expect_like = [&](const Tensor& got, const Tensor& want, double tolerance) {
    const std::vector<float> here = read<float>(slice(got, 0, {.stop = 5}));
    const std::vector<float> there = read<float>(want);
    ASSERT_EQ(got.shape(), x.shape());
    ASSERT_EQ(here.size(), there.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (std::isnan(there[i]) || std::isinf(there[i])) {
        EXPECT_EQ(std::isnan(here[i]), std::isnan(there[i])) << i;
        EXPECT_TRUE(std::isnan(there[i]) || here[i] == there[i]) << i;
      } else {
        ASSERT_NEAR(here[i], there[i], tolerance * std::max(1.F, std::abs(there[i]))) << i;
      }
    }
  };
  expect_like(softmax(x, 1), softmax(dense, 1), 1e-9);
  expect_like(log_softmax(x, 1), log_softmax(dense, 1), 1e-6);
  expect_like(cumsum(x, 1), cumsum(dense, 1), 1e-5);
  expect_like(cumprod(x, 1), cumprod(dense, 1), 1e-5);
  const Tensor row = cast(arange(0, length), DType::f32);
  expect_like(layer_norm(x, {}, {}), layer_norm(dense, {}, {}), 1e-9);
  expect_like(layer_norm(x, row, row), layer_norm(dense, row, row), 1e-6);
  expect_like(layer_norm(x, row, {}, {.epsilon = 0}), layer_norm(dense, row, {}, {.epsilon = 0}), 1e-6);
  EXPECT_EQ(read<std::int64_t>(
                slice(cumsum(broadcast_to(cast(constant({{3}, {-7}}), DType::i32), {2, 3'000'000}), 1), 1, {.start = 2'999'999})),
            (std::vector<std::int64_t>{9'000'000, -21'000'000}));
}

}  // namespace
}  // namespace tutti
