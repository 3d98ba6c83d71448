// What index(), at(), gathers and scatters promise beside their values: views, reuse of memory, no sync, and clear refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tutti/tutti.h"

namespace tutti {
namespace {

class IndexingOnEachDevice : public testing::TestWithParam<const char*> {
 protected:
  IndexingOnEachDevice() { simulate_gpus(1); }
};

INSTANTIATE_TEST_SUITE_P(Each, IndexingOnEachDevice, testing::Values("CPU:0", "GPU:0"),
                         [](const auto& param) { return std::string(param.param, 3); });

const void* memory_of(const Tensor& x) { return x.impl().buffer().get(); }

template <class Exception>
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Exception& e) {
    return e.message();
  }
  return "nothing was thrown";
}

// Nothing in the body may wait for the device.
void expect_no_sync(const std::function<void()>& body) {
  const std::uint64_t before = sync_counts().demand;
  body();
  EXPECT_EQ(sync_counts().demand, before);
}

Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(*element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return constant(values, shape);
}

TEST_P(IndexingOnEachDevice, IntegersRangesEllipsisAndNewAxesGiveAViewOfTheSameMemory) {
  const DeviceScope on(GetParam());
  const Tensor x = counting({2, 3, 4});
  const Tensor view = index(x, {1, Range{{}, {}, -1}, new_axis, ellipsis, Range{0, 2}});
  EXPECT_EQ(memory_of(view), memory_of(x));
  EXPECT_EQ(view.shape(), (Shape{3, 1, 2}));
  EXPECT_EQ(read<float>(view), (std::vector{20.F, 21.F, 16.F, 17.F, 12.F, 13.F}));
  EXPECT_EQ(memory_of(index(x, {})), memory_of(x));
}

TEST_P(IndexingOnEachDevice, IndicesAndRangesReadAsInNumPy) {
  const DeviceScope on(GetParam());
  const Tensor x = counting({2, 3, 4});
  const Tensor t = constant({2, 0});
  EXPECT_EQ(read<float>(index(x, {0, Range{1, 3}, t})), (std::vector{6.F, 10.F, 4.F, 8.F}));  // the integer indexes too
  EXPECT_EQ(index(x, {t, 0}).rank(), 2U);
  EXPECT_EQ(read<float>(index(x, {1, t, constant({3, 1})})), (std::vector{23.F, 13.F}));
}

TEST_P(IndexingOnEachDevice, WhatDoesNotFitTheTensorIsRefusedAtTheCall) {
  const DeviceScope on(GetParam());
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(refusal<InvalidArgument>([&] { (void)index(x, {2}); }), "index: index 2 is out of range for axis 0 with size 2");
  EXPECT_EQ(refusal<InvalidArgument>([&] { (void)index(x, {0, -4}); }), "index: index -4 is out of range for axis 1 with size 3");
  EXPECT_EQ(refusal<ShapeError>([&] {
              (void)index(x, {0, 0, 0});
            }),
            "index: an index over 3 axes was given to a tensor of shape (2, 3), which has 2");
  EXPECT_EQ(refusal<InvalidArgument>([&] {
              (void)index(x, {ellipsis, 0, ellipsis});
            }),
            "index: an index has at most one ellipsis; this one has 2");
  EXPECT_NE(
      refusal<DTypeError>([&] { (void)index(x, {zeros({2})}); }).find("index: the indices must be integers; these are float32"),
      std::string::npos);
  EXPECT_NE(
      refusal<ShapeError>([&] { (void)index(x, {zeros({3}, DType::boolean)}); }).find("index: a mask of shape (3,) does not fit"),
      std::string::npos);
  EXPECT_NE(refusal<ShapeError>([&] {
              (void)index(x, {zeros({2}, DType::i32), zeros({3}, DType::i32)});
            }).find("do not broadcast"),
            std::string::npos);
  EXPECT_NE(refusal<InvalidArgument>([&] { (void)index(x, {Range{0, 2, 0}}); }).find("step"), std::string::npos);
  EXPECT_NE(refusal<InvalidArgument>([&] { (void)index(x, {constant(true)}); }).find("at least one axis"), std::string::npos);
}

TEST_P(IndexingOnEachDevice, AnIndexOutOfRangeSpoilsGathersAndScatters) {
  const DeviceScope on(GetParam());
  const Tensor x = counting({3, 4});
  for (const std::int64_t bad :
       {std::int64_t{4}, std::int64_t{-5}, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    SCOPED_TRACE(bad);
    const std::string message = "index " + std::to_string(bad) + " is out of range for axis 1 with size 4";
    const Tensor line = constant({std::int64_t{0}, bad});
    const Tensor each = constant<std::int64_t>({{0, bad}, {1, 2}, {0, 0}});
    for (const Tensor& spoiled :
         {index(x, {ellipsis, line}), index(x, {0, line}), take_along_axis(x, each, 1), gather(x, 1, each),
          index_select(x, -1, line), at(x, {ellipsis, line}).set(1), at(x, {constant({0, 1}), line}).add(1),
          scatter(x, 1, each, 1, {.mode = ScatterMode::add}), scatter(x, 1, each, 1)}) {
      EXPECT_NE(refusal<KernelFailed>([&] { (void)read<float>(spoiled); }).find(message), std::string::npos);
    }
  }
  EXPECT_EQ(read<float>(x), read<float>(counting({3, 4})));
  clear_errors();
}

TEST_P(IndexingOnEachDevice, AtLeavesItsArgumentAloneUnlessItIsGivenAway) {
  const DeviceScope on(GetParam());
  Tensor x = counting({2, 3});
  const Tensor changed = at(x, {0}).set(9);
  EXPECT_EQ(read<float>(changed), (std::vector{9.F, 9.F, 9.F, 3.F, 4.F, 5.F}));
  EXPECT_EQ(read<float>(x), (std::vector{0.F, 1.F, 2.F, 3.F, 4.F, 5.F}));
  const void* const before = memory_of(x);
  x = at(std::move(x), {0}).set(9);
  x = at(std::move(x), {Range{}, constant({1})}).add(1);
  x = at(std::move(x), {constant({true, false})}).set(2);
  x = scatter(std::move(x), 1, constant<std::int32_t>({{0}, {2}}), 7);
  EXPECT_EQ(memory_of(x), before);
  EXPECT_EQ(read<float>(x), (std::vector{7.F, 2.F, 2.F, 3.F, 5.F, 7.F}));
  const Tensor kept = x;
  EXPECT_NE(memory_of(at(std::move(x), {0}).set(0)), memory_of(kept));
  EXPECT_EQ(read<float>(kept)[0], 7.F);
}

TEST_P(IndexingOnEachDevice, TheLastOfSeveralValuesForOnePlaceIsSetAndAllOfThemAreAdded) {
  const DeviceScope on(GetParam());
  const Tensor places = constant({1, 0, 1, 1});
  const Tensor values = constant({1.F, 2.F, 3.F, 4.F});
  EXPECT_EQ(read<float>(at(zeros({3}), {places}).set(values)), (std::vector{2.F, 4.F, 0.F}));
  EXPECT_EQ(read<float>(at(ones({3}), {places}).add(values)), (std::vector{3.F, 9.F, 1.F}));
  EXPECT_EQ(read<float>(at(ones({3}), {places}).multiply(values)), (std::vector{2.F, 12.F, 1.F}));
  EXPECT_EQ(read<float>(at(full({3}, 3, DType::f32), {places}).min(values)), (std::vector{2.F, 1.F, 3.F}));
  EXPECT_EQ(read<float>(at(full({3}, 3, DType::f32), {places}).max(values)), (std::vector{3.F, 4.F, 3.F}));
  EXPECT_EQ(read<float>(at(values, {places}).get()), (std::vector{2.F, 1.F, 2.F, 2.F}));
}

TEST_P(IndexingOnEachDevice, NothingButAMaskAmongOtherTensorsAndUnstatedSizesSync) {
  const DeviceScope on(GetParam());
  const Tensor x = counting({2, 3});
  const Tensor mask = constant<bool>({{true, false, true}, {false, true, true}});
  const Tensor repeats = constant({1, 2});
  Tensor masked;
  Tensor counted;
  expect_no_sync([&] {
    (void)index(x, {constant({1, 0})});
    masked = at(x, {mask}).set(8);
    counted = at(x, {mask}).add(constant({10.F, 20.F, 30.F, 40.F}));
    (void)nonzero(x, {.size = 2});
    (void)masked_select(x, mask, {.size = 2});
    (void)repeat_interleave(x, repeats, {.axis = 0, .output_size = 3});
    (void)repeat_interleave(x, 2);
  });
  EXPECT_EQ(read<float>(masked), (std::vector{8.F, 1.F, 8.F, 3.F, 8.F, 8.F}));
  EXPECT_EQ(read<float>(counted), (std::vector{10.F, 1.F, 22.F, 3.F, 34.F, 45.F}));
  const std::uint64_t before = sync_counts().demand;
  (void)index(x, {mask});
  (void)nonzero(x);
  EXPECT_EQ(sync_counts().demand, before + 2);
}

TEST_P(IndexingOnEachDevice, ValuesThatAreNotAsManyAsAMaskHoldsSpoilTheResult) {
  const DeviceScope on(GetParam());
  const Tensor x = counting({4});
  const Tensor mask = constant({true, false, true, true});
  EXPECT_NE(refusal<KernelFailed>([&] {
              (void)read<float>(at(x, {mask}).set(constant({1.F, 2.F})));
            }).find("a mask with 3 true elements was given values for 2"),
            std::string::npos);
  clear_errors();
}

TEST_P(IndexingOnEachDevice, ValuesOfTheWrongShapeOrDTypeAreRefused) {
  const DeviceScope on(GetParam());
  const Tensor x = zeros({2, 3}, DType::i32);
  EXPECT_EQ(refusal<ShapeError>([&] { (void)at(x, {0}).set(zeros({2}, DType::i32)); }),
            "At::set: values of shape (2,) do not broadcast to (3,), the shape of the places they are for");
  EXPECT_NE(refusal<DTypeError>([&] { (void)at(x, {0}).set(zeros({3})); }).find("At::set: values of dtype float32"),
            std::string::npos);
  EXPECT_NE(refusal<InvalidArgument>([&] { (void)at(x, {0}).set(0.5); }).find("does not fit"), std::string::npos);
  EXPECT_NE(refusal<InvalidArgument>([&] { (void)at(3, {0}).set(1); }).find("a number was given"), std::string::npos);
  EXPECT_NE(refusal<ShapeError>([&] { (void)scatter(x, 0, zeros({2}, DType::i32), 1); }).find("scatter"), std::string::npos);
  EXPECT_NE(refusal<ShapeError>([&] { (void)gather(x, 0, zeros({2, 4}, DType::i32)); }).find("larger"), std::string::npos);
  EXPECT_NE(refusal<ShapeError>([&] { (void)take_along_axis(x, zeros({2}, DType::i32), 0); }).find("axes"), std::string::npos);
  EXPECT_NE(refusal<ShapeError>([&] {
              (void)index_select(x, 0, zeros({1, 1}, DType::i32));
            }).find("one axis"),
            std::string::npos);
  EXPECT_NE(refusal<ShapeError>([&] { (void)gather(x, 2, zeros({2, 3}, DType::i32)); }).find("axis 2"), std::string::npos);
}

TEST_P(IndexingOnEachDevice, NaNWinsAMinimumAndNegativeZeroIsLess) {
  const DeviceScope on(GetParam());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = constant({1.F, nan, 0.F, -0.F});
  const Tensor places = constant({0, 1, 2, 3, 0});
  const auto least = read<float>(at(x, {places}).min(constant({nan, 1.F, -0.F, 0.F, 5.F})));
  EXPECT_TRUE(std::isnan(least[0]) && std::isnan(least[1]));
  EXPECT_TRUE(std::signbit(least[2]) && std::signbit(least[3]));
  const auto greatest = read<float>(at(x, {places}).max(constant({2.F, 1.F, -0.F, 0.F, 5.F})));
  EXPECT_TRUE(std::isnan(greatest[1]));
  EXPECT_FALSE(std::signbit(greatest[2]) || std::signbit(greatest[3]));
  EXPECT_EQ(greatest[0], 5.F);
}

TEST_P(IndexingOnEachDevice, RepeatsThatDoNotAddUpToTheStatedSizeAreCutOrFilled) {
  const DeviceScope on(GetParam());
  const Tensor x = counting({2, 2});
  const Tensor repeats = constant({3, 1});
  const RepeatResult filled = repeat_interleave(x, repeats, {.axis = 0, .output_size = 5, .fill = -1});
  EXPECT_EQ(read<float>(filled.values), (std::vector{0.F, 1.F, 0.F, 1.F, 0.F, 1.F, 2.F, 3.F, -1.F, -1.F}));
  EXPECT_EQ(item<std::int64_t>(filled.count), 4);
  const RepeatResult cut = repeat_interleave(x, repeats, {.axis = 1, .output_size = 2});
  EXPECT_EQ(read<float>(cut.values), (std::vector{0.F, 0.F, 2.F, 2.F}));
  EXPECT_EQ(item<std::int64_t>(cut.count), 4);
  const RepeatResult number = repeat_interleave(x, 2, {.axis = 0, .output_size = 3});
  EXPECT_EQ(read<float>(number.values), (std::vector{0.F, 1.F, 0.F, 1.F, 2.F, 3.F}));
  const RepeatResult nothing = repeat_interleave(zeros({0, 2}), zeros({0}, DType::i64), {.axis = 0, .output_size = 1, .fill = 7});
  EXPECT_EQ(read<float>(nothing.values), (std::vector{7.F, 7.F}));
  EXPECT_EQ(item<std::int64_t>(nothing.count), 0);
}

TEST_P(IndexingOnEachDevice, RepeatsThatAreNegativeSpoilTheResult) {
  const DeviceScope on(GetParam());
  const Tensor x = counting({2});
  const auto message = [&](const Tensor& repeats, std::int64_t size) {
    return refusal<KernelFailed>([&] { (void)read<float>(repeat_interleave(x, repeats, {.output_size = size}).values); });
  };
  EXPECT_NE(message(constant({3, -1}), 2).find("a repeat count of -1 is negative"), std::string::npos);
  EXPECT_NE(refusal<InvalidArgument>([&] {
              (void)repeat_interleave(x, constant({1, 2, 3}));
            }).find("their shape is (3,)"),
            std::string::npos);
  EXPECT_NE(refusal<InvalidArgument>([&] { (void)repeat_interleave(x, -1); }).find("not negative"), std::string::npos);
  EXPECT_NE(refusal<InvalidArgument>([&] { (void)repeat_interleave(x, 2, {.output_size = -3}); }).find("it is -3"),
            std::string::npos);
  clear_errors();
}

TEST_P(IndexingOnEachDevice, ARegionOutsideTheTensorIsRefused) {
  const DeviceScope on(GetParam());
  ScatterAttributes beyond;
  beyond.rank = 1;
  beyond.offset = 2;
  beyond.axes[0] = {2, 1};
  EXPECT_THROW((void)call_op("TensorScatterUpdate", {zeros({3}), zeros({2})}, Attributes(beyond)), ShapeError);
  beyond.offset = 0;
  EXPECT_EQ(read<float>(call_op("TensorScatterUpdate", {zeros({3}), ones({2})}, Attributes(beyond))[0]),
            (std::vector{1.F, 1.F, 0.F}));
}

}  // namespace
}  // namespace tutti
