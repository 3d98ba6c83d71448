// More than 2^31 elements: counts, offsets and indices are 64 bits wide all the way.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "tutti/tutti.h"

namespace tutti {
namespace {

constexpr std::int64_t side = 46'349;  // side * side is just above 2^31
constexpr std::int64_t count = side * side;
static_assert(count > INT32_MAX);

class Huge : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's shadow of this much memory is larger than the memory";
#endif
    const double free_gib =
        static_cast<double>(::sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 0x1p30;
    if (list_physical_devices("GPU").empty() && free_gib < 10) GTEST_SKIP() << "needs 10 GiB of free memory";
  }
};

using Bytes = std::vector<std::uint8_t>;

// `count` elements in one axis: zeros, and at the end those given.
Tensor zeros_before(const Bytes& tail) {
  const auto few = static_cast<std::int64_t>(tail.size());
  return concat({broadcast_to(zeros({1}, DType::u8), {count - few}), constant(tail, {few})}, 0);
}

// A square in which neighbours differ, and no row or column is like the one before.
Tensor patterned() {
  const Tensor numbers = cast(remainder(arange(side), 251), DType::u8);
  return expand_dims(numbers * TensorArg(3), 1) + numbers;
}

TEST_F(Huge, ElementsAreAddedComparedAndSummed) {
  const Tensor x = ones({side, side}, DType::u8);
  EXPECT_EQ(item<std::int64_t>(sum(x)), count);
  const Tensor row = full({side}, 2, DType::u8);
  const Tensor y = x + row;  // a strided operand beside a dense one
  EXPECT_EQ(item<std::int64_t>(count_nonzero(y)), count);
  EXPECT_EQ(item<std::int64_t>(sum(slice(y, 0, {.start = side - 1}))), 3 * side);
}

TEST_F(Huge, TheLastElementsAreReachedThroughViewsAndIndices) {
  Tensor x = ones({side, side}, DType::u8);
  const Tensor turned = contiguous(transpose(x));
  EXPECT_EQ(item<std::uint8_t>(slice(slice(turned, 0, {.start = side - 1}), 1, {.start = side - 1})), 1);
  const Tensor flat = reshape(std::move(x), {-1});
  const Tensor picked = take(flat, constant<std::int64_t>({0, count - 1, -1, INT32_MAX, std::int64_t{INT32_MAX} + 1}), 0);
  EXPECT_EQ(read<std::uint8_t>(picked), std::vector<std::uint8_t>(5, 1));
  EXPECT_EQ(read<std::uint8_t>(slice(flat, 0, {.start = count - 2})), (std::vector<std::uint8_t>{1, 1}));
}

TEST_F(Huge, WhatIsJoinedLiesBehindTheRest) {
  const Tensor joined = zeros_before({7, 8, 9});
  EXPECT_EQ(read<std::uint8_t>(slice(joined, 0, {.start = count - 4})), (Bytes{0, 7, 8, 9}));
  EXPECT_EQ(item<std::int64_t>(sum(joined)), 24);
}

TEST_F(Huge, RowsAreTakenAsOftenAsAskedFor) {
  const Tensor table = constant(Bytes{1, 2, 3, 4}, {2, 2});
  const Tensor wide = contiguous(broadcast_to(reshape(table, {2, 2, 1}), {2, 2, side}));
  const Tensor indices = remainder(arange(side / 2 + 1), 2);
  const Tensor taken = take(wide, indices, 0);
  ASSERT_GT(taken.size(), INT32_MAX);
  const Tensor last = slice(slice(taken, 0, {.start = side / 2 - 1}), 2, {.start = side - 1});
  EXPECT_EQ(read<std::uint8_t>(reshape(last, {4})), (Bytes{3, 4, 1, 2}));
}

TEST_F(Huge, NonzeroElementsAreFoundWhereTheyAreWithoutASync) {
  const NonzeroResult found = nonzero(zeros_before({5, 0, 6}), {.size = 3});
  EXPECT_EQ(read<std::int64_t>(reshape(found.positions, {3})), (std::vector<std::int64_t>{count - 3, count - 1, -1}));
  EXPECT_EQ(item<std::int64_t>(found.count), 2);
}

TEST_F(Huge, TheLargestElementsPositionIsItsOwn) { EXPECT_EQ(item<std::int64_t>(argmax(zeros_before({1, 9, 9, 2}))), count - 3); }

TEST_F(Huge, AxesAreReducedToTheirEnds) {
  const Tensor x = patterned();
  const Tensor down = sum(x, {0});
  const Tensor along = max(x, {1});
  std::int64_t expected = 0;
  for (std::int64_t i = 0; i < side; ++i) expected += (i % 251 * 3 + (side - 1) % 251) % 256;
  EXPECT_EQ(item<std::int64_t>(slice(down, 0, {.start = side - 1})), expected);
  EXPECT_EQ(item<std::uint8_t>(slice(along, 0, {.start = side - 1})), 255);
}

TEST_F(Huge, ATransposedCopyHasEveryRowWhereTheColumnWas) {
  const Tensor x = patterned();
  const Tensor turned = contiguous(transpose(x));
  for (const std::int64_t line : {std::int64_t{0}, side / 2, side - 1}) {
    const Tensor row = slice(turned, 0, {.start = line, .stop = line + 1});
    const Tensor column = slice(x, 1, {.start = line, .stop = line + 1});
    EXPECT_TRUE(item<bool>(all(equal(reshape(row, {side}), reshape(column, {side}))))) << line;
  }
}

}  // namespace
}  // namespace tutti
