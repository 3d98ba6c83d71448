// Shapes: counting without overflow, strides, broadcasting, and how they print.
#include "tutti/tensor/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tutti/base/error.h"

namespace tutti {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

TEST(Shape, PrintsAsPythonPrintsATuple) {
  EXPECT_EQ(to_string(Shape{}), "()");
  EXPECT_EQ(to_string(Shape{5}), "(5,)");
  EXPECT_EQ(to_string(Shape{2, 3}), "(2, 3)");
  EXPECT_EQ(to_string(Dims{-1, 0}), "(-1, 0)");
}

TEST(Shape, CountsItsElementsOrSaysThatItCannot) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, 3, 4}), 24);
  EXPECT_EQ(element_count({2, 0, 4}), 0);
  EXPECT_EQ(element_count({most, 0}), 0);
  EXPECT_EQ(element_count({most, 0, most}), std::nullopt) << "its strides would not fit";
  EXPECT_EQ(element_count({most}), most);
  EXPECT_EQ(element_count({most, 2}), std::nullopt);
  EXPECT_EQ(element_count({-1}), std::nullopt);
  EXPECT_EQ(element_count({0, -1}), std::nullopt);
  EXPECT_EQ(element_count({-1, -1}), std::nullopt);
}

TEST(Shape, HasStridesInRowOrder) {
  EXPECT_EQ(dense_strides({2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(dense_strides({}), Dims{});
  EXPECT_EQ(dense_strides({7}), Dims{1});
}

TEST(Shape, BroadcastsFromTheLastAxis) {
  EXPECT_EQ(broadcast({2, 3}, {3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast({3}, {2, 1}), (Shape{2, 3}));
  EXPECT_EQ(broadcast({}, {4, 5}), (Shape{4, 5}));
  EXPECT_EQ(broadcast({0}, {1}), Shape{0});
  EXPECT_EQ(broadcast({0}, {3}), std::nullopt);
  EXPECT_EQ(broadcast({2}, {3}), std::nullopt);
}

TEST(Shape, OfMoreThanEightAxesIsRefusedWhereItIsWritten) {
  const std::uint32_t line = __LINE__ + 2;
  try {
    const Shape shape{1, 1, 1, 1, 1, 1, 1, 1, 1};
    FAIL() << to_string(shape);
  } catch (const ShapeError& e) {
    EXPECT_EQ(e.site().line(), line);
    EXPECT_STREQ(e.site().file(), __FILE__);
  }
  EXPECT_EQ(Shape(std::vector<std::int64_t>(8, 1)).size(), 8U);
}

}  // namespace
}  // namespace tutti
