// What making and rearranging tensors refuses, and what it shares.
#include <gtest/gtest.h>

#include <limits>

#include "ops/refusals.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

const void* memory_of(const Tensor& x) { return x.impl().buffer().get(); }
constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

TEST(Manipulation, SharesMemoryWhereStridesAllow) {
  const Tensor x = ones({4, 6, 1});
  for (const Tensor& view : {expand_dims(x, 0), squeeze(x, {2}), flip(x), moveaxis(x, 0, 2), matrix_transpose(x), diagonal(x),
                             split(x, 2)[1], unstack(x, 1)[3], broadcast_arrays({x, ones({1, 1, 3})})[0]})
    EXPECT_EQ(memory_of(view), memory_of(x));
  const Tensor v = arange(5);
  for (const Tensor& grid : meshgrid({v, v})) EXPECT_EQ(memory_of(grid), memory_of(v));
}

TEST(Manipulation, JoinsMoreTensorsThanACallTakes) {
  std::vector<Tensor> many;
  for (std::int64_t i = 0; i < 5000; ++i) many.push_back(constant(std::vector{i}, {1}));
  const std::vector<std::int64_t> joined = read<std::int64_t>(concat(many));
  ASSERT_EQ(joined.size(), 5000U);
  for (std::size_t i = 0; i < joined.size(); ++i) ASSERT_EQ(joined[i], static_cast<std::int64_t>(i));
}

TEST(Manipulation, RefusesShapesThatDoNotFit) {
  const Tensor x = ones({4, 6});
  EXPECT_REFUSED_HERE(ShapeError, "equal but for axis 0", concat({x, ones({4, 5})}));
  EXPECT_REFUSED_HERE(ShapeError, "equal but for axis 0", concat({x, ones({4})}));
  EXPECT_REFUSED_HERE(ShapeError, "axis 2", concat({x, x}, 2));
  EXPECT_REFUSED_HERE(ShapeError, "axis 0", concat({ones({}), ones({})}));
  EXPECT_REFUSED_HERE(InvalidArgument, "no tensors", concat(std::vector<Tensor>{}));
  EXPECT_REFUSED_HERE(InvalidArgument, "no tensors", stack(std::vector<Tensor>{}));
  EXPECT_REFUSED_HERE(ShapeError, "(4, 6) and (6, 4)", stack({x, transpose(x)}));
  EXPECT_REFUSED_HERE(ShapeError, "axis 3", stack({x, x}, 3));
  EXPECT_REFUSED_HERE(ShapeError, "axis 0 of the shape (4, 6) has not size 1", squeeze(x, {0}));
  EXPECT_REFUSED_HERE(ShapeError, "twice", squeeze(ones({1, 2}), {0, -2}));
  EXPECT_REFUSED_HERE(ShapeError, "axis 3", expand_dims(x, 3));
  EXPECT_REFUSED_HERE(ShapeError, "at most 8 axes", expand_dims(ones({1, 1, 1, 1, 1, 1, 1, 1})));
  EXPECT_REFUSED_HERE(ShapeError, "axis 2", flip(x, Dims{2}));
  EXPECT_REFUSED_HERE(ShapeError, "twice", flip(x, Dims{1, -1}));
  EXPECT_REFUSED_HERE(InvalidArgument, "1 axes (0,) and 2 places", moveaxis(x, Dims{0}, Dims{0, 1}));
  EXPECT_REFUSED_HERE(ShapeError, "twice", moveaxis(x, Dims{0, 1}, Dims{1, 1}));
  EXPECT_REFUSED_HERE(ShapeError, "needs two axes", matrix_transpose(ones({3})));
  EXPECT_REFUSED_HERE(ShapeError, "axis 1 twice", diagonal(x, {.axis1 = 1, .axis2 = -1}));
  EXPECT_REFUSED_HERE(ShapeError, "axis -2", diagonal(ones({3})));
  EXPECT_REFUSED_HERE(ShapeError, "4 parts of equal size", split(x, 4, 1));
  EXPECT_REFUSED_HERE(ShapeError, "0 parts", split(x, 0));
  EXPECT_REFUSED_HERE(ShapeError, "axis 2", unstack(x, 2));
  EXPECT_REFUSED_HERE(ShapeError, "does not broadcast", broadcast_arrays({x, ones({5})}));
  EXPECT_REFUSED_HERE(InvalidArgument, "2 shifts (1, 2) for 1 axes", roll(x, {1, 2}, {0}));
  EXPECT_REFUSED_HERE(ShapeError, "axis 2", roll(x, {1}, {2}));
  EXPECT_REFUSED_HERE(InvalidArgument, "less than none", repeat(x, -1));
  EXPECT_REFUSED_HERE(ShapeError, "cannot be made", repeat(x, huge, 0));
  EXPECT_REFUSED_HERE(InvalidArgument, "negative", tile(x, {-1}));
  EXPECT_REFUSED_HERE(ShapeError, "cannot be made", tile(x, {huge, huge}));
  EXPECT_REFUSED_HERE(ShapeError, "widths for 3 axes", pad(x, {{1, 1}, {1, 1}, {1, 1}}));
  EXPECT_REFUSED_HERE(ShapeError, "must not be negative", pad(x, {{-1, 1}}));
  EXPECT_REFUSED_HERE(ShapeError, "one element, not of shape (2,)", pad(x, {{1, 1}}, ones({2})));
  EXPECT_REFUSED_HERE(ShapeError, "too large", pad(x, {{huge, huge}}));
  EXPECT_REFUSED_HERE(InvalidArgument, "", pad(cast(x, DType::i32), {{1, 1}}, 0.5));
}

TEST(Patterns, RefuseWhatHasNoMeaning) {
  EXPECT_REFUSED_HERE(InvalidArgument, "step other than 0", arange(0, 5, 0));
  EXPECT_REFUSED_HERE(InvalidArgument, "step other than 0", arange(0.0, 5, 0));
  EXPECT_REFUSED_HERE(InvalidArgument, "0.5 is no value of int32", arange(0.5, 5, {.dtype = DType::i32}));
  EXPECT_REFUSED_HERE(DTypeError, "no range of bools", arange(2, {.dtype = DType::boolean}));
  EXPECT_REFUSED_HERE(InvalidArgument, "not finite", arange(std::numeric_limits<double>::infinity()));
  EXPECT_REFUSED_HERE(ShapeError, "more elements", arange(0.0, 1e300, 1e-300));
  EXPECT_REFUSED_HERE(ShapeError, "more elements", arange(-huge, huge));
  EXPECT_REFUSED_HERE(InvalidArgument, "does not fit in int64", arange(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_REFUSED_HERE(DTypeError, "use arange", linspace(0, 1, 3, {.dtype = DType::i32}));
  EXPECT_REFUSED_HERE(ShapeError, "-1", linspace(0, 1, -1));
  EXPECT_REFUSED_HERE(ShapeError, "", eye(-1));
  EXPECT_REFUSED_HERE(ShapeError, "", eye(huge));
  EXPECT_REFUSED_HERE(ShapeError, "two axes", tril(ones({3})));
  EXPECT_REFUSED_HERE(ShapeError, "takes vectors", meshgrid({ones({2, 2})}));
  EXPECT_REFUSED_HERE(DTypeError, "one dtype", meshgrid({ones({2}), arange(3)}));
}

TEST(Patterns, EndExactlyWhereTheyShould) {
  EXPECT_EQ(read<float>(linspace(0, 0.7F, 8)).back(), 0.7F);
  EXPECT_EQ(read<double>(linspace(-1, 0.1, 1000, {.dtype = DType::f64})).back(), 0.1);
  EXPECT_EQ(arange(3, 3).shape(), Shape{0});
  EXPECT_EQ(arange(5, 3).shape(), Shape{0});
  EXPECT_EQ(arange(3).dtype(), DType::i64);
  EXPECT_EQ(arange(3.0).dtype(), DType::f32);
  EXPECT_EQ(read<std::uint8_t>(arange(254, 258, {.dtype = DType::u8})), (std::vector<std::uint8_t>{254, 255, 0, 1})) << "wraps";
}

}  // namespace
}  // namespace tutti
