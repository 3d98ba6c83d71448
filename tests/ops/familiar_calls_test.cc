// Calls as users of NumPy, PyTorch and the array API write them.
#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <type_traits>

#include "ops/refusals.h"
#include "tutti/tutti.h"

#ifdef __clang__
#pragma clang diagnostic ignored "-Wbraced-scalar-init"  // one axis in braces is a promise
#endif

namespace tutti {
namespace {

Tensor counted(const Shape& shape) { return reshape(cast(arange(*element_count(shape)), DType::f32), shape); }
std::vector<float> values(const Tensor& x) { return read<float>(x); }
template <class T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

TEST(FamiliarCalls, AnAxisIsANumberOrAListWhereverOneIsTaken) {
  const Tensor x = counted({2, 3});
  EXPECT_EQ(values(sum(x, -1)), values(sum(x, {-1})));
  EXPECT_EQ(values(sum(x, std::size_t{0})), (std::vector{3.F, 5.F, 7.F}));
  EXPECT_EQ(sum(x, 1, {.keepdims = true}).shape(), (Shape{2, 1}));
  for (const auto reduce :
       {+[](const Tensor& t) { return max(t, 1); }, +[](const Tensor& t) { return min(t, 1); },
        +[](const Tensor& t) { return mean(t, 1); }, +[](const Tensor& t) { return prod(t, 1); },
        +[](const Tensor& t) { return var(t, 1); }, +[](const Tensor& t) { return std(t, 1); },
        +[](const Tensor& t) { return all(t, 1); }, +[](const Tensor& t) { return any(t, 1); },
        +[](const Tensor& t) { return logsumexp(t, 1); }, +[](const Tensor& t) { return vector_norm(t, 1); },
        +[](const Tensor& t) { return count_nonzero(t, 1); }, +[](const Tensor& t) { return argmax(t, {1}); }})
    EXPECT_EQ(reduce(x).shape(), Shape{2});
  EXPECT_EQ(squeeze(ones({2, 1}), -1).shape(), Shape{2});
  EXPECT_EQ(values(flip(x, 1)), values(flip(x, {1})));
  EXPECT_EQ(values(flip(x, 1)), (std::vector{2.F, 1.F, 0.F, 5.F, 4.F, 3.F}));
  EXPECT_EQ(values(roll(x, 1, 1)), values(roll(x, {1}, {1})));
  EXPECT_EQ(expand_dims(x, {0, -1}).shape(), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(expand_dims(x, 1).shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(values(softmax(x, {-1})), values(softmax(x, -1)));
  EXPECT_EQ(values(sort(x, 0, {.descending = true})), (std::vector{3.F, 4.F, 5.F, 0.F, 1.F, 2.F}));
  EXPECT_EQ(read<std::int64_t>(argsort(x, 0)), (std::vector<std::int64_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(values(topk(x, 1, 0).values), (std::vector{3.F, 4.F, 5.F}));
  EXPECT_EQ(values(cumulative_sum(x, 1)), values(cumsum(x, 1)));
  EXPECT_EQ(cumulative_sum(x, 1, {.include_initial = true}).shape(), (Shape{2, 4}));
  EXPECT_EQ(repeat_interleave(x, 2, 1).shape(), (Shape{2, 6}));
}

TEST(FamiliarCalls, AShapeOfOneAxisIsANumber) {
  EXPECT_EQ(zeros(3).shape(), Shape{3});
  EXPECT_EQ(ones(3, DType::i32).shape(), Shape{3});
  EXPECT_EQ(uniform(3).shape(), Shape{3});
  EXPECT_EQ(reshape(ones({2, 3}), -1).shape(), Shape{6});
  EXPECT_EQ(reshape(ones({2, 3}), {-1}).shape(), Shape{6});
  EXPECT_EQ(broadcast_to(ones({}), 4).shape(), Shape{4});
  EXPECT_EQ(tile(ones(3), 2).shape(), Shape{6});
}

TEST(FamiliarCalls, ShapesAndAxesMayBeKnownOnlyAtRunTime) {
  const std::vector<std::int64_t> sizes{2, 3};
  const std::vector<int> axes{0, 1};
  const std::span<const std::int64_t> some(sizes);
  EXPECT_EQ(zeros(sizes).shape(), (Shape{2, 3}));
  EXPECT_EQ(full(some, 7).shape(), (Shape{2, 3}));
  EXPECT_EQ(normal(sizes).shape(), (Shape{2, 3}));
  EXPECT_EQ(randint(sizes, 0, 5).shape(), (Shape{2, 3}));
  const Tensor x = counted({3, 2});
  EXPECT_EQ(reshape(x, sizes).shape(), (Shape{2, 3}));
  EXPECT_EQ(item<float>(sum(x, axes)), 15.F);
  EXPECT_EQ(sum(x, axes, {.keepdims = true}).shape(), (Shape{1, 1}));
  EXPECT_EQ(transpose(x, std::vector{1, 0}).shape(), (Shape{2, 3}));
  EXPECT_EQ(flip(x, axes).shape(), (Shape{3, 2}));
  EXPECT_EQ(constant(std::vector(6, 1.F), sizes).shape(), (Shape{2, 3}));
  EXPECT_EQ(constant({1, 2, 3, 4, 5, 6}, sizes).shape(), (Shape{2, 3}));
}

TEST(FamiliarCalls, WhatMayBeLeftOut) {
  const Tensor x = counted({1, 1, 4, 4});
  const Tensor weight = ones({1, 1, 2, 2});
  EXPECT_EQ(values(conv2d(x, weight, {.stride = 2})), values(conv2d(x, weight, {}, {.stride = 2})));
  EXPECT_EQ(conv2d(x, weight, {}).shape(), (Shape{1, 1, 3, 3})) << "an absent bias";
  EXPECT_EQ(conv2d(x, weight, Conv2dOptions{.padding = 1}).shape(), (Shape{1, 1, 5, 5}));
  const Tensor y = counted({2, 3});
  EXPECT_EQ(values(linear(y, transpose(y))), values(matmul(y, transpose(y))));
  EXPECT_EQ(linear(ones({2, 2, 3}), ones({3, 4})).shape(), (Shape{2, 2, 4}));
  EXPECT_REFUSED_HERE(ShapeError, "linear: x needs at least one axis and the weight two", linear(y, ones({3})));
  EXPECT_REFUSED_HERE(DTypeError, "linear: floating dtypes are needed", linear(arange(3), ones({3, 2}, DType::i64)));
  EXPECT_EQ(values(clip(y, 2)), (std::vector{2.F, 2.F, 2.F, 3.F, 4.F, 5.F}));
  EXPECT_EQ(values(pad(y, 1)), values(pad(y, {{1, 1}})));
  EXPECT_EQ(values(pad(counted({1}), 1, 7)), (std::vector{7.F, 0.F, 7.F}));
}

TEST(FamiliarCalls, ANegativeIndexOfAShapeCountsFromTheEnd) {
  Shape shape{2, 3, 5};
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[std::size_t{1}], 3);
  shape[-3] = 7;
  EXPECT_EQ(shape, (Shape{7, 3, 5}));
}

TEST(FamiliarCalls, SplitTakesANumberOfPartsOrAListOfIndices) {
  const Tensor x = counted({2, 3});
  const std::vector<Tensor> at_one = split(x, {1}, 1);
  ASSERT_EQ(at_one.size(), 2U);
  EXPECT_EQ(at_one[0].shape(), (Shape{2, 1}));
  EXPECT_EQ(at_one[1].shape(), (Shape{2, 2}));
  EXPECT_EQ(split(x, {1, 2}, 1).size(), 3U);
  EXPECT_EQ(split(x, std::vector<std::int64_t>{2}, 1)[0].shape(), (Shape{2, 2}));
  EXPECT_EQ(split(x, 3, 1).size(), 3U);
}

TEST(FamiliarCalls, SqueezeWithoutAxesDropsEveryAxisOfSizeOne) {
  EXPECT_EQ(squeeze(ones({1, 2, 1, 3, 1})).shape(), (Shape{2, 3}));
  EXPECT_EQ(squeeze(ones({1, 1})).shape(), Shape{});
  EXPECT_EQ(squeeze(ones({2, 3})).shape(), (Shape{2, 3}));
}

TEST(FamiliarCalls, TransposeReversesSwapsOrPermutes) {
  const Tensor x = counted({2, 3, 4});
  EXPECT_EQ(transpose(x).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(transpose(x, 0, 1).shape(), (Shape{3, 2, 4}));
  EXPECT_EQ(transpose(x, -1, 0).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(transpose(x, {1, 2, 0}).shape(), (Shape{3, 4, 2}));
  EXPECT_EQ(values(transpose(x, {1, 2, 0})), values(permute_dims(x, {1, 2, 0})));
  EXPECT_EQ(values(transpose(x, 0, 1)), values(permute_dims(x, {1, 0, 2})));
  EXPECT_EQ(values(transpose(x, 1, 1)), values(x));
  EXPECT_THROW(transpose(x, 0, 3), ShapeError);
}

TEST(FamiliarCalls, FullTakesItsDTypeFromTheValue) {
  EXPECT_EQ(full({2, 3}, 7).dtype(), DType::i64);
  EXPECT_EQ(full({2, 3}, 1.5).dtype(), DType::f32);
  EXPECT_EQ(full(3, true).dtype(), DType::boolean);
  EXPECT_EQ(full(3, constant(2.0)).dtype(), DType::f64);
  EXPECT_EQ(full(3, 7, DType::u8).dtype(), DType::u8);
  EXPECT_EQ(read<std::int64_t>(full({2}, 7)), (std::vector<std::int64_t>{7, 7}));
}

TEST(FamiliarCalls, RangesTakeTheirStepAndMatricesTheirColumnsInPlace) {
  EXPECT_EQ(read<std::int64_t>(arange(0, 10, 4)), (std::vector<std::int64_t>{0, 4, 8}));
  EXPECT_EQ(values(arange(1, 0, -0.5)), (std::vector{1.F, 0.5F}));
  EXPECT_EQ(arange(0, 4, 2, {.dtype = DType::i32}).dtype(), DType::i32);
  EXPECT_EQ(arange(4, {.dtype = DType::i32}).dtype(), DType::i32);
  EXPECT_EQ(eye(2, 3).shape(), (Shape{2, 3}));
  EXPECT_EQ(eye(2, 3, {.dtype = DType::i32}).dtype(), DType::i32);
  EXPECT_EQ(values(eye(2, {.offset = 1})), (std::vector{0.F, 1.F, 0.F, 0.F}));
}

TEST(FamiliarCalls, ConstantsComeFromContainersWithOrWithoutAShape) {
  const std::vector<float> list{1, 2, 3, 4};
  const std::array<std::int32_t, 4> fixed{1, 2, 3, 4};
  EXPECT_EQ(constant(list).shape(), Shape{4});
  EXPECT_EQ(constant(list, {2, 2}).shape(), (Shape{2, 2}));
  EXPECT_EQ(constant(std::span(list)).shape(), Shape{4});
  EXPECT_EQ(read<std::int32_t>(constant(fixed, {2, 2})), (std::vector{1, 2, 3, 4}));
  EXPECT_EQ(constant(fixed).dtype(), DType::i32);
  EXPECT_EQ(read<bool>(constant(std::vector<bool>{true, false})), (std::vector{true, false}));
  EXPECT_EQ(constant({1.F, 2.F, 3.F, 4.F}, {2, 2}).shape(), (Shape{2, 2}));
}

TEST(FamiliarCalls, ConstantsTakeADTypeThatHoldsTheirNumbers) {
  EXPECT_EQ(constant(3, DType::f32).dtype(), DType::f32);
  EXPECT_EQ(constant(3, DType::f32).shape(), Shape{});
  EXPECT_EQ(values(constant({1, 2, 3}, DType::f32)), (std::vector{1.F, 2.F, 3.F}));
  EXPECT_EQ(constant({{1, 2, 3}, {4, 5, 6}}, DType::f64).shape(), (Shape{2, 3}));
  EXPECT_EQ(read<std::uint8_t>(constant({{{1, 255}}}, DType::u8)), (std::vector<std::uint8_t>{1, 255}));
  EXPECT_EQ(read<std::int32_t>(constant({1.0, -2.0}, DType::i32)), (std::vector{1, -2}));
  EXPECT_EQ(values(constant({true, false}, DType::f32)), (std::vector{1.F, 0.F}));
  EXPECT_EQ(read<bool>(constant({2, 0}, DType::boolean)), (std::vector{true, false}));
  EXPECT_EQ(read<std::int64_t>(constant({std::int64_t{1} << 62U}, DType::i64)), std::vector{std::int64_t{1} << 62U});
  EXPECT_REFUSED_HERE(InvalidArgument, "300 does not fit in uint8", constant({1, 300}, DType::u8));
  EXPECT_REFUSED_HERE(InvalidArgument, "0.5 does not fit in int32", constant(0.5, DType::i32));
  EXPECT_REFUSED_HERE(ShapeError, "ragged", constant({{1, 2}, {3}}, DType::f32));
}

TEST(FamiliarCalls, EinsumTakesItsTensorsOneByOne) {
  const Tensor x = counted({2, 3});
  EXPECT_EQ(values(einsum("ij,kj->ik", x, x)), values(matmul(x, transpose(x))));
  EXPECT_EQ(values(einsum(std::string("ij->ji"), x)), values(transpose(x)));
  EXPECT_EQ(values(einsum("ij,kj->ik", {x, x})), values(matmul(x, transpose(x))));
  const unsigned line = Site().line() + 2;
  try {
    (void)einsum("ij,jk->ik", x, x);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.site().line(), line);
  }
}

TEST(FamiliarCalls, ShapesAndDTypesArePrinted) {
  EXPECT_EQ(printed(Shape{2, 3}), "(2, 3)");
  EXPECT_EQ(printed(ones(5).shape()), "(5,)");
  EXPECT_EQ(printed(ones(5).dtype()), "float32");
  EXPECT_EQ(printed(floating_dtypes), to_string(floating_dtypes));
}

// A tensor is assigned to by its name only, and is no number: x + 1 is not to be a sum of two of them.
static_assert(std::is_nothrow_move_constructible_v<Tensor> && std::is_nothrow_move_assignable_v<Tensor>);
static_assert(!std::is_convertible_v<Tensor, bool> && !std::is_convertible_v<Tensor, float>);

// Nothing else may become a place in the source: an argument too many would be taken for one.
static_assert(std::is_convertible_v<std::source_location, Site>);
static_assert(!std::is_constructible_v<Site, int>);
static_assert(!std::is_constructible_v<Site, std::nullptr_t>);
static_assert(!std::is_constructible_v<Site, const char*>);
static_assert(!std::is_constructible_v<Site, bool>);
static_assert(!std::is_constructible_v<Site, int, int>);

}  // namespace
}  // namespace tutti
