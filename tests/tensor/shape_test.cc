// Shapes: counting without overflow, strides, broadcasting, and how they print.
#include "tutti/tensor/shape.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
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

TEST(Shape, RefusesAPlaceThatItHasNotWhereItIsAsked) {
  Shape shape{2, 3};
  const auto message = [](const auto& ask) -> std::string {
    try {
      ask();
    } catch (const ShapeError& e) {
      EXPECT_STREQ(e.site().file(), __FILE__);
      return e.message();
    }
    return "";
  };
  EXPECT_EQ(message([&] { (void)shape[5]; }), "[5] was asked of (2, 3), which has 2; use -2 to 1");
  EXPECT_EQ(message([&] { (void)shape[2U]; }), "[2] was asked of (2, 3), which has 2; use -2 to 1");
  EXPECT_EQ(message([&] { shape[-3] = 1; }), "[-3] was asked of (2, 3), which has 2; use -2 to 1");
  EXPECT_EQ(message([&] { (void)shape[shape.size() - 3]; }),
            "[18446744073709551615] was asked of (2, 3), which has 2; use -2 to 1");
  EXPECT_EQ(message([] { (void)Shape{}[0]; }), "[0] was asked of (), which is empty");
  EXPECT_EQ(shape, (Shape{2, 3}));
}

TEST(Shape, IsMadeOfAnyListOfIntegers) {
  const std::vector<std::int64_t> wide{2, 3};
  std::vector<int> narrow{2, 3};
  const Shape shape = wide;
  EXPECT_EQ(shape, (Shape{2, 3}));
  EXPECT_EQ(Shape(narrow), shape);
  EXPECT_EQ(Shape(std::span(narrow)), shape);
  EXPECT_EQ(Shape(std::array<std::size_t, 2>{2, 3}), shape);
  EXPECT_EQ(Shape(std::vector<int>{}), Shape{});
  EXPECT_THROW(Shape(std::vector<int>(9, 1)), ShapeError);
  static_assert(!std::is_constructible_v<Shape, std::string> && !std::is_constructible_v<Shape, std::vector<double>>);
}

}  // namespace
}  // namespace tutti
