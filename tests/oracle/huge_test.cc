// More than 2^31 elements: counts, offsets and indices are 64 bits wide all the way.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>

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

}  // namespace
}  // namespace tutti
