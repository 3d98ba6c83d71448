// Functions that put elements elsewhere work on a transposed operand as it lies: the same values, and a result that is transposed
// alike.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>

#include "ops/on_each_device.h"

namespace tutti {
namespace {

class TransposedOnEachDevice : public testing_ops::OnEachDevice {};
INSTANTIATE_TEST_SUITE_P(Each, TransposedOnEachDevice, testing_ops::each_device(), testing_ops::name_of_device);

Tensor counted(const Shape& shape) { return reshape(cast(arange(0, *element_count(shape)), DType::f32), shape); }

// Whether axes that are further out in x are further out in y, too.
bool lies_alike(const Tensor& x, const Tensor& y) {
  for (std::size_t i = 0; i < x.rank(); ++i) {
    for (std::size_t k = 0; k < x.rank(); ++k) {
      if (x.strides()[i] < x.strides()[k] && y.strides()[i] >= y.strides()[k]) return false;
    }
  }
  return true;
}

struct Named {
  const char* name;
  std::function<Tensor(const Tensor&)> call;
  bool keeps_order = true;  // the result of a transposed tensor is transposed
};

std::vector<Named> functions(std::size_t rank, std::mt19937_64& random) {
  const auto below = [&](std::int64_t end) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end)); };
  const std::int64_t axis = below(static_cast<std::int64_t>(rank));
  std::vector<PadWidth> widths;
  Dims shifts;
  Dims axes;
  Dims times;
  for (std::size_t i = 0; i < rank; ++i) {
    widths.push_back({below(3), below(3)});
    shifts.push_back(below(9) - 4);
    axes.push_back(below(2) == 0 ? static_cast<std::int64_t>(i) : static_cast<std::int64_t>(i) - static_cast<std::int64_t>(rank));
    times.push_back(1 + below(3));
  }
  const Dims few_times(std::span<const std::int64_t>(times.begin(), times.begin() + 1));
  const Tensor rows = constant({std::int64_t{1}, std::int64_t{0}, std::int64_t{1}});
  return {{"pad", [=](const Tensor& x) { return pad(x, widths, 7); }},
          {"pad all alike",
           [=](const Tensor& x) {
             return pad(x, {{1, 2}}, 7);
           }},
          {"roll", [=](const Tensor& x) { return roll(x, shifts, axes); }},
          {"roll one", [=](const Tensor& x) { return roll(x, {1}, {axis}); }},
          {"tile", [=](const Tensor& x) { return tile(x, times); }, false},
          {"tile the last", [=](const Tensor& x) { return tile(x, few_times); }, false},
          {"repeat", [=](const Tensor& x) { return repeat(x, 2, axis); }, false},
          {"take", [=](const Tensor& x) { return take(x, rows, axis); }}};
}

TEST_P(TransposedOnEachDevice, ResultsAreTheSameAndLieAlike) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    const std::size_t rank = 2 + random() % 3;
    Shape shape;
    for (std::size_t i = 0; i < rank; ++i) shape.push_back(2 + static_cast<std::int64_t>(random() % 4));
    std::vector<std::int64_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    const Tensor x = permute_dims(counted(shape), Dims(std::span<const std::int64_t>(order)));
    for (const Named& function : functions(rank, random)) {
      SCOPED_TRACE(function.name);
      const Tensor got = function.call(x);
      const Tensor expected = function.call(contiguous(x));
      EXPECT_EQ(got.shape(), expected.shape());
      EXPECT_EQ(read<float>(got), read<float>(expected));
      EXPECT_TRUE(!function.keeps_order || order.back() + 1 == static_cast<std::int64_t>(rank) || lies_alike(x, got))
          << to_string(x.strides()) << " and " << to_string(got.strides());
    }
  }
}

TEST_P(TransposedOnEachDevice, GapsStepsBackAndSizesOfOneChangeNothing) {
  const std::vector<Tensor> operands{slice(transpose(counted({6, 4})), 1, {.step = 2}),
                                     slice(transpose(counted({3, 4})), 0, {.step = -1}), transpose(counted({1, 4})),
                                     transpose(counted({4, 1})), permute_dims(counted({3, 1, 4}), {2, 1, 0})};
  for (const Tensor& x : operands) {
    const Tensor rows = contiguous(x);
    SCOPED_TRACE(to_string(x.strides()));
    EXPECT_EQ(read<float>(pad(x, {{1, 1}}, 5)), read<float>(pad(rows, {{1, 1}}, 5)));
    EXPECT_EQ(read<float>(roll(x, {1, 1}, {0, -1})), read<float>(roll(rows, {1, 1}, {0, -1})));
    EXPECT_EQ(read<float>(tile(x, {2, 3})), read<float>(tile(rows, {2, 3})));
    EXPECT_EQ(read<float>(tile(x, {2, 1, 1, 2})), read<float>(tile(rows, {2, 1, 1, 2})));
    EXPECT_EQ(read<float>(repeat(x, 3, 0)), read<float>(repeat(rows, 3, 0)));
    EXPECT_EQ(read<float>(take(x, constant({std::int64_t{0}}), -1)), read<float>(take(rows, constant({std::int64_t{0}}), -1)));
  }
}

TEST_P(TransposedOnEachDevice, TheSameElementsAreDropped) {
  const std::vector<std::pair<Shape, Dims>> cases{
      {{8, 12}, {1, 0}},      {{64, 130}, {1, 0}},          {{132, 70}, {1, 0}},          {{6, 9}, {1, 0}},
      {{3, 8, 5}, {0, 2, 1}}, {{2, 4, 16}, {2, 0, 1}},      {{4, 6, 3}, {1, 2, 0}},       {{4, 6, 3}, {2, 1, 0}},
      {{4, 1, 6}, {2, 1, 0}}, {{2, 3, 4, 8}, {0, 3, 1, 2}}, {{2, 3, 4, 8}, {1, 0, 3, 2}}, {{0, 4}, {1, 0}},
      {{200, 300}, {1, 0}},   {{2, 4, 4, 8}, {2, 3, 0, 1}}};
  for (const auto& [shape, order] : cases) {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      const Tensor x = cast(permute_dims(counted(shape) + 1, order), dtype);
      SCOPED_TRACE(to_string(x.shape()) + to_string(x.strides()));
      const DropoutOptions options{.key = 77, .counter = 0xFFFFFFFEU};
      const Tensor got = dropout(x, 0.4, options);
      EXPECT_EQ(got.shape(), x.shape());
      EXPECT_EQ(read<float>(cast(got, DType::f32)), read<float>(cast(dropout(contiguous(x), 0.4, options), DType::f32)));
    }
  }
}

TEST_P(TransposedOnEachDevice, ElementsAreRepeatedSideBySide) {
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
    for (const Shape& shape : {Shape{24, 40}, Shape{7, 13}, Shape{3, 5, 32}}) {
      const Tensor dense = cast(counted(shape), dtype);
      for (const Tensor& x :
           {dense, slice(dense, -1, {.start = 1, .stop = {}}), slice(dense, -1, {.start = {}, .stop = {}, .step = -2})}) {
        for (const std::int64_t times : {2, 3, 4, 5, 8, 17}) {
          const Tensor rows = cast(floor_divide(arange(0, x.shape()[shape.size() - 1] * times), times), DType::i64);
          SCOPED_TRACE(to_string(x.shape()) + to_string(x.strides()) + std::to_string(times));
          EXPECT_EQ(read<float>(cast(repeat(x, times, -1), DType::f32)), read<float>(cast(take(x, rows, -1), DType::f32)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tutti
