// Sorting, searching and distinct elements: what is refused, what is spoiled, who waits.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/elements.h"

namespace tutti {
namespace {

using testing_ops::bytes_of;

class SortingOnEachDevice : public testing::TestWithParam<const char*> {
 protected:
  SortingOnEachDevice() { simulate_gpus(1); }
};

INSTANTIATE_TEST_SUITE_P(Each, SortingOnEachDevice, testing::Values("CPU:0", "GPU:0"),
                         [](const auto& param) { return std::string(param.param, 3); });

TEST_P(SortingOnEachDevice, NaNComesLastAndDescendingFirst) {
  const DeviceScope on(GetParam());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = constant({2.F, nan, -INFINITY, INFINITY, -nan, -1.F});
  EXPECT_EQ(read<std::int64_t>(argsort(x)), (std::vector<std::int64_t>{2, 5, 0, 3, 1, 4}));
  EXPECT_EQ(read<std::int64_t>(argsort(x, {.descending = true})), (std::vector<std::int64_t>{1, 4, 3, 0, 5, 2}));
  const std::vector<float> sorted = read<float>(sort(x));
  EXPECT_TRUE(std::isnan(sorted[4]) && std::isnan(sorted[5]));
  EXPECT_EQ(read<std::int64_t>(topk(x, 2).indices), (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(read<std::int64_t>(topk(x, 2, {.largest = false}).indices), (std::vector<std::int64_t>{2, 5}));
}

TEST_P(SortingOnEachDevice, EqualElementsKeepTheirOrderBothWays) {
  const DeviceScope on(GetParam());
  const Tensor x = constant({0.F, -0.F, 1.F, 0.F, 1.F, -0.F});
  EXPECT_EQ(read<std::int64_t>(argsort(x)), (std::vector<std::int64_t>{0, 1, 3, 5, 2, 4}));
  EXPECT_EQ(read<std::int64_t>(argsort(x, {.descending = true})), (std::vector<std::int64_t>{2, 4, 0, 1, 3, 5}));
}

TEST_P(SortingOnEachDevice, SortingLosesNoZeroItsSign) {
  const DeviceScope on(GetParam());
  int negative = 0;
  for (const float each : read<float>(sort(constant({0.F, -0.F, 1.F, -0.F, -1.F})))) negative += std::signbit(each) ? 1 : 0;
  EXPECT_EQ(negative, 3);
}

TEST_P(SortingOnEachDevice, WhatCannotBeSortedIsRefusedAtTheCall) {
  const DeviceScope on(GetParam());
  const Tensor x = zeros({2, 3});
  EXPECT_THROW(sort(x, 2), ShapeError);
  EXPECT_THROW(argsort(x, -3), ShapeError);
  EXPECT_THROW(sort(ones({})), ShapeError);
  EXPECT_THROW(topk(x, 4), InvalidArgument);
  EXPECT_THROW(topk(x, -1), InvalidArgument);
  EXPECT_THROW(topk(x, 3, 0), InvalidArgument);
  EXPECT_THROW(searchsorted(x, x), ShapeError);
  EXPECT_THROW(searchsorted(zeros({3}), x, {.sorter = zeros({3})}), DTypeError);
  EXPECT_THROW(searchsorted(zeros({3}), x, {.sorter = zeros({2}, DType::i64)}), ShapeError);
  EXPECT_THROW(unique_values(x, {.size = -1}), InvalidArgument);
  EXPECT_THROW(unique_values(x, {.size = 3, .fill = x}), InvalidArgument);
  EXPECT_THROW(unique_values(zeros({3}, DType::u8), {.size = 3, .fill = 300}), InvalidArgument);
}

TEST_P(SortingOnEachDevice, ASorterOutOfRangeSpoilsTheResult) {
  const DeviceScope on(GetParam());
  const std::uint32_t line = __LINE__ + 1;
  const Tensor found = searchsorted(constant({1.F, 2.F, 3.F}), constant({2.F}), {.sorter = constant({0, 7, 2})});
  try {
    (void)read<std::int64_t>(found);
    FAIL() << "the value could be read";
  } catch (const KernelFailed& e) {
    EXPECT_EQ(e.site().line(), line);
    EXPECT_NE(e.message().find("index 7 is out of range"), std::string::npos) << e.what();
  }
  clear_errors();
}

TEST_P(SortingOnEachDevice, UniqueWaitsOnceAndWithAStatedSizeNever) {
  const DeviceScope on(GetParam());
  const Tensor x = constant({3, 1, 3, 2, 1, 3});
  x.sync();
  reset_sync_totals();
  const UniqueAll found = unique_all(x);
  EXPECT_EQ(sync_counts().demand, 1U);
  reset_sync_totals();
  const UniqueAll sized = unique_all(x, {.size = 5, .fill = -7});
  (void)unique_values(x, {.size = 5});
  (void)unique_counts(x, {.size = 2});
  (void)unique_inverse(x, {.size = 0});
  (void)topk(sort(x), 2);
  EXPECT_EQ(sync_counts().demand, 0U);
  EXPECT_EQ(read<std::int32_t>(found.values), (std::vector{1, 2, 3}));
  EXPECT_EQ(read<std::int32_t>(sized.values), (std::vector{1, 2, 3, -7, -7}));
  EXPECT_EQ(read<std::int64_t>(sized.indices), (std::vector<std::int64_t>{1, 3, 0, -1, -1}));
  EXPECT_EQ(read<std::int64_t>(sized.counts), (std::vector<std::int64_t>{2, 1, 3, 0, 0}));
  EXPECT_EQ(read<std::int64_t>(sized.inverse_indices), (std::vector<std::int64_t>{2, 0, 2, 1, 0, 2}));
  EXPECT_EQ(item<std::int64_t>(sized.count), 3);
}

TEST(Sorting, DoesNotDependOnTheNumberOfCores) {
  const Tensor x = cast(randint({200'000}, 0, 1'000), DType::f32);
  const Tensor rows = cast(randint({200, 1'000}, 0, 100), DType::i16);
  const auto results = [&] {
    const TopK best = topk(x, 1'000);
    return std::vector{bytes_of(sort(x)),
                       bytes_of(argsort(x)),
                       bytes_of(best.values),
                       bytes_of(best.indices),
                       bytes_of(argsort(rows)),
                       bytes_of(topk(rows, 7).indices),
                       bytes_of(unique_all(x).inverse_indices)};
  };
  set_num_threads(1);
  const auto alone = results();
  set_num_threads(2);
  EXPECT_EQ(results(), alone);
}

}  // namespace
}  // namespace tutti
