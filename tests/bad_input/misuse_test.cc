// Misuse of every public function is reported at the call, with the caller's own line.
#include <cmath>
#include <limits>
#include <utility>

#include "bad_input/refusal.h"

namespace tutti {
namespace {

constexpr std::int64_t huge = std::int64_t{1} << 40U;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class Misuse : public testing::TestWithParam<const char*> {
 protected:
  Misuse() : on_((simulate_gpus(2, {.memory_bytes = MiB(256)}), GetParam())) { expect_usable(); }

 private:
  DeviceScope on_;
};
INSTANTIATE_TEST_SUITE_P(Each, Misuse, testing::Values("CPU:0", "GPU:1"),
                         [](const auto& param) { return std::string(param.param, 3); });

TEST_P(Misuse, ShapesThatDoNotMatch) {
  const Tensor a = ones({2, 3});
  const Tensor b = ones({4, 5});
  const std::vector<float> three{1, 2, 3};
  EXPECT_REFUSED(ShapeError, "add: the shapes do not broadcast", a + b);
  EXPECT_REFUSED(ShapeError, "the shapes are (2, 3) and (4, 5)", multiply(a, b));
  EXPECT_REFUSED(ShapeError, "where: the shapes do not broadcast", where(ones({7}, DType::boolean), a, b));
  EXPECT_REFUSED(ShapeError, "matmul: the last axis of the first must be as long as", matmul(a, b));
  EXPECT_REFUSED(ShapeError, "do not broadcast", matmul(ones({2, 2, 3}), ones({3, 3, 4})));
  EXPECT_REFUSED(ShapeError, "at least one axis", matmul(constant(1.F), a));
  EXPECT_REFUSED(ShapeError, "add_n: all inputs must have one shape", add_n({a, b}));
  EXPECT_REFUSED(ShapeError, "3 values of float32 were given for the shape (2, 2), which holds 4", constant(three, {2, 2}));
  EXPECT_REFUSED(ShapeError, "exactly one element", item<float>(a));
  EXPECT_REFUSED(ShapeError, "the value must be one element", full({2}, a, DType::f32));
  EXPECT_REFUSED(ShapeError, "more than 8 axes", take(ones({1, 1, 1, 1, 1, 1, 1, 1}), ones({1, 1}, DType::i32)));
  EXPECT_REFUSED(ShapeError, "axis 2 does not exist", take(a, constant({0}), 2));
}

TEST_P(Misuse, AVariableKeepsItsShapeAndDType) {
  Variable v(ones({2, 3}));
  EXPECT_REFUSED(ShapeError, "a value of shape (4, 5) does not fit a variable of shape (2, 3)", v.assign(ones({4, 5})));
  EXPECT_REFUSED(ShapeError, "assign_add: a value of shape (1, 2, 3)", v.assign_add(ones({1, 2, 3})));
  EXPECT_REFUSED(DTypeError, "assign: the variable is float32 and the value int32", v.assign(ones({2, 3}, DType::i32)));
  EXPECT_REFUSED(DTypeError, "assign_add: the variable is float32", v.assign_add(ones({2, 3}, DType::f64)));
  Variable whole(ones({2}, DType::i32));
  EXPECT_REFUSED(DTypeError, "assign_add: the variable is int32", whole.assign_add(ones({2})));
  EXPECT_REFUSED(InvalidArgument, "the number 2.5 does not fit in int32", whole.assign(2.5));
  EXPECT_REFUSED(InvalidArgument, "the number 2.5 does not fit in int32", whole.assign_add(2.5));
  EXPECT_REFUSED(InvalidArgument, "does not fit in int32", whole.assign_add(3'000'000'000));
  whole.assign_add(ones({2}, DType::i8));
  EXPECT_EQ(read<std::int32_t>(whole.value()), (std::vector{2, 2}));
  EXPECT_EQ(read<float>(v.value()), std::vector<float>(6, 1.F));
}

TEST_P(Misuse, DTypesAnOpLacks) {
  EXPECT_REFUSED(DTypeError, "exp: it is defined for floating dtypes only; the dtypes are int32", exp(ones({2}, DType::i32)));
  EXPECT_REFUSED(DTypeError, "relu: it is defined for numeric dtypes only", relu(ones({2}, DType::boolean)));
  EXPECT_REFUSED(DTypeError, "the condition must be bool", where(ones({2}), 1, 2));
  EXPECT_REFUSED(DTypeError, "take: the indices must be integers; these are float32", take(ones({2}), ones({2})));
  EXPECT_REFUSED(DTypeError, "add_n: all inputs must have one dtype", add_n({ones({2}), ones({2}, DType::f64)}));
  EXPECT_REFUSED(DTypeError, "a tensor of dtype float32 was read as int32", read<std::int32_t>(ones({2})));
  EXPECT_REFUSED(DTypeError, "was read as float64", item<double>(ones({1})));
  EXPECT_REFUSED(DTypeError, "was read as float64", read_async<double>(ones({1})));
  EXPECT_REFUSED(DTypeError, "was read as float64", try_read<double>(ones({1})));
}

TEST_P(Misuse, SizesThatCannotBe) {
  EXPECT_REFUSED(ShapeError, "a tensor of shape (-1,) and dtype float32 cannot be", zeros({-1}));
  EXPECT_REFUSED(ShapeError, "(2, -3)", ones({2, -3}));
  EXPECT_REFUSED(ShapeError, "cannot be", full({std::numeric_limits<std::int64_t>::min()}, 1, DType::f32));
  EXPECT_REFUSED(ShapeError, "all bytes must fit in 63 bits", zeros({std::int64_t{1} << 62U}));
  EXPECT_REFUSED(ShapeError, "cannot be", zeros({huge, huge}));
  EXPECT_REFUSED(ShapeError, "cannot be", uniform({huge, huge}));
  EXPECT_REFUSED(ShapeError, "cannot be", uniform({-5}));
  EXPECT_REFUSED(ShapeError, "cannot be", constant(std::vector<float>{}, {-1}));
  EXPECT_REFUSED(ShapeError, "cannot be", constant(std::vector<float>{}, {huge, huge}));
  EXPECT_REFUSED(ShapeError, "cannot be", zeros({0, huge, huge}));
  EXPECT_REFUSED(ShapeError, "too large", reshape(zeros({0}), {0, huge, huge}));
  EXPECT_REFUSED(ShapeError, "cannot be broadcast", broadcast_to(zeros({0, 1, 1}), {0, huge, huge}));
  EXPECT_EQ(item<float>(sum(zeros({0, huge}) + 1)), 0.F) << "no elements are no bytes";
}

TEST_P(Misuse, MoreAxesThanATensorHas) {
  EXPECT_REFUSED(ShapeError, "at most 8 axes", zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_REFUSED(ShapeError, "at most 8 axes", reshape(ones({1}), {1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_REFUSED(ShapeError, "at most 8 axes", broadcast_to(ones({1}), {1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_REFUSED(ShapeError, "at most 8 axes", sum(ones({1}), {0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_REFUSED(ShapeError, "at most 8 axes", Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_REFUSED(ShapeError, "at most 8 axes", Shape(std::vector<std::int64_t>(9, 1)));
  Shape shape(std::vector<std::int64_t>(8, 1));
  EXPECT_REFUSED(ShapeError, "at most 8 axes", shape.push_back(1));
}

TEST_P(Misuse, MoreThanThereIsMemoryFor) {
  set_memory_limit(GetParam(), MiB(64));  // the CPU would promise far more than it has
  EXPECT_REFUSED(OutOfMemory, "", zeros({huge}));
  EXPECT_REFUSED(OutOfMemory, "", ones({huge}, DType::u8));
  EXPECT_REFUSED(OutOfMemory, "", uniform({huge}));
  EXPECT_REFUSED(OutOfMemory, "", contiguous(broadcast_to(ones({1}), {huge})));
  EXPECT_REFUSED(OutOfMemory, "", ones({1 << 20, 1}) + ones({1, 1 << 20}));
  EXPECT_REFUSED(OutOfMemory, "", cumulative_sum(broadcast_to(ones({1}), {huge})));
  EXPECT_REFUSED(OutOfMemory, "", copy_to(broadcast_to(ones({1}), {huge}), GetParam()));
  EXPECT_REFUSED(OutOfMemory, "", reshape(broadcast_to(ones({2, 1}), {2, huge}), {huge * 2}));
  EXPECT_REFUSED(OutOfMemory, "", matmul(ones({1 << 20, 1}), ones({1, 1 << 20})));
  EXPECT_REFUSED(OutOfMemory, "", Variable(broadcast_to(ones({1}), {huge})));
}

TEST_P(Misuse, RaggedConstants) {
  EXPECT_REFUSED(ShapeError, "ragged", constant({{1.F, 2.F}, {3.F}}));
  EXPECT_REFUSED(ShapeError, "ragged", constant({{1, 2}, {3, 4}, {5, 6, 7}}));
  EXPECT_REFUSED(ShapeError, "ragged", constant({{true, false}, {true}}));
  EXPECT_REFUSED(ShapeError, "ragged", constant({{{1.0}, {2.0}}, {{3.0}, {4.0, 5.0}}}));
  EXPECT_REFUSED(ShapeError, "ragged", constant({{{1.0}, {2.0}}, {{3.0}}}));
}

TEST_P(Misuse, TensorsThatWereNeverGivenAValue) {
  const Tensor none;
  Tensor moved = ones({2});
  const Tensor kept = std::move(moved);
  const char* const text = "a tensor that was never given a value (or was moved from) was used";
  EXPECT_REFUSED(InvalidArgument, text, none + kept);
  EXPECT_REFUSED(InvalidArgument, text, kept * none);
  EXPECT_REFUSED(InvalidArgument, text, none + 1);
  EXPECT_REFUSED(InvalidArgument, text, 2 * none);
  EXPECT_REFUSED(InvalidArgument, text, moved + 1);
  EXPECT_REFUSED(InvalidArgument, text, add(none, none));
  EXPECT_REFUSED(InvalidArgument, text, exp(none));
  EXPECT_REFUSED(InvalidArgument, text, relu(none));
  EXPECT_REFUSED(InvalidArgument, text, where(none, 1, 2));
  EXPECT_REFUSED(InvalidArgument, text, where(true, kept, none));
  EXPECT_REFUSED(InvalidArgument, text, add_n({kept, none}));
  EXPECT_REFUSED(InvalidArgument, text, cast(none, DType::f64));
  EXPECT_REFUSED(InvalidArgument, text, sum(none));
  EXPECT_REFUSED(InvalidArgument, text, sum(none, {0}));
  EXPECT_REFUSED(InvalidArgument, text, sum(none, Dims{}));
  EXPECT_REFUSED(InvalidArgument, text, matmul(none, kept));
  EXPECT_REFUSED(InvalidArgument, text, matmul(kept, none));
  EXPECT_REFUSED(InvalidArgument, text, take(none, constant({0})));
  EXPECT_REFUSED(InvalidArgument, text, take(kept, none));
  EXPECT_REFUSED(InvalidArgument, text, nonzero(none));
  EXPECT_REFUSED(InvalidArgument, text, count_nonzero(none));
  EXPECT_REFUSED(InvalidArgument, text, reshape(none, {1}));
  EXPECT_REFUSED(InvalidArgument, text, contiguous(none));
  EXPECT_REFUSED(InvalidArgument, text, copy_to(none, "CPU:0"));
  EXPECT_REFUSED(InvalidArgument, text, copy_to(none, "GPU:0"));
  EXPECT_REFUSED(InvalidArgument, text, slice(none, 0, {}));
  EXPECT_REFUSED(InvalidArgument, text, transpose(none));
  EXPECT_REFUSED(InvalidArgument, text, permute_dims(none, {0}));
  EXPECT_REFUSED(InvalidArgument, text, broadcast_to(none, {2}));
  EXPECT_REFUSED(InvalidArgument, text, full({2}, none, DType::f32));
  EXPECT_REFUSED(InvalidArgument, text, Variable(none));
  EXPECT_REFUSED(InvalidArgument, text, call_op("AddV2", {kept, none}));
  EXPECT_REFUSED(InvalidArgument, text, item<float>(none));
  EXPECT_REFUSED(InvalidArgument, text, read<float>(none));
  EXPECT_REFUSED(InvalidArgument, text, read_async<float>(none));
  EXPECT_REFUSED(InvalidArgument, text, try_read<float>(none));
  EXPECT_REFUSED(InvalidArgument, text, to_string(none));
  EXPECT_REFUSED(InvalidArgument, text, none.shape());
  EXPECT_REFUSED(InvalidArgument, text, none.rank());
  EXPECT_REFUSED(InvalidArgument, text, none.size());
  EXPECT_REFUSED(InvalidArgument, text, none.strides());
  EXPECT_REFUSED(InvalidArgument, text, none.dtype());
  EXPECT_REFUSED(InvalidArgument, text, none.device());
  EXPECT_REFUSED(InvalidArgument, text, none.is_contiguous());
  EXPECT_REFUSED(InvalidArgument, text, none.is_ready());
  EXPECT_REFUSED(InvalidArgument, text, none.sync());
  Variable v(kept);
  EXPECT_REFUSED(InvalidArgument, text, v.assign(none));
  EXPECT_REFUSED(InvalidArgument, text, v.assign_add(none));
  const Variable gone = std::move(v);
  EXPECT_REFUSED(InvalidArgument, "a variable that was moved from was used", v.value());
  EXPECT_REFUSED(InvalidArgument, "a variable that was moved from was used", v.assign(1));
  EXPECT_REFUSED(InvalidArgument, "a variable that was moved from was used", v.assign_add(1));
  EXPECT_REFUSED(InvalidArgument, "a variable that was moved from was used", v.shape());
  EXPECT_REFUSED(InvalidArgument, "a variable that was moved from was used", v.dtype());
  EXPECT_REFUSED(InvalidArgument, "a variable that was moved from was used", v.device());
}

TEST_P(Misuse, IntervalsThatADTypeDoesNotHold) {
  EXPECT_REFUSED(InvalidArgument, "low (2) must not be above high (1)", uniform({2}, {.low = 2, .high = 1}));
  EXPECT_REFUSED(InvalidArgument, "must not be above", uniform({2}, {.low = nan, .high = 1}));
  EXPECT_REFUSED(InvalidArgument, "must not be above", uniform({2}, {.low = 0, .high = nan}));
  EXPECT_REFUSED(InvalidArgument, "does not lie within what float32 holds", uniform({2}, {.low = 0, .high = infinity}));
  EXPECT_REFUSED(InvalidArgument, "does not lie within", uniform({2}, {.low = -infinity, .high = 0}));
  EXPECT_REFUSED(InvalidArgument, "does not lie within", uniform({2}, {.low = -3e38, .high = 3e38}));
  EXPECT_REFUSED(InvalidArgument, "does not lie within what float16 holds", uniform({2}, {.high = 1e6, .dtype = DType::f16}));
  EXPECT_REFUSED(InvalidArgument, "does not lie within what uint8 holds", uniform({2}, {.high = 300, .dtype = DType::u8}));
  EXPECT_REFUSED(InvalidArgument, "does not lie within what uint8 holds", uniform({2}, {.low = -1, .dtype = DType::u8}));
  EXPECT_REFUSED(InvalidArgument, "does not lie within what int64 holds", uniform({2}, {.high = 1e19, .dtype = DType::i64}));
}

TEST_P(Misuse, BadDeviceNamesWhereverOneIsTaken) {
  const Tensor x = ones({2});
  EXPECT_REFUSED(InvalidDeviceName, "did you mean '/GPU:0'?", DeviceScope("/gpu:O"));
  EXPECT_REFUSED(InvalidDeviceName, "", DeviceScope(std::string(1'000'000, 'x')));
  EXPECT_REFUSED(InvalidDeviceName, "", copy_to(x, "GPU:99999999999999999999"));
  EXPECT_REFUSED(UnknownDevice, "unknown device", copy_to(x, "GPU:63"));
  EXPECT_REFUSED(InvalidDeviceName, "", Stream("gpu::0"));
  EXPECT_REFUSED(UnknownDevice, "unknown device", Stream("GPU:9"));
  EXPECT_REFUSED(InvalidDeviceName, "", synchronize("/device:"));
  EXPECT_REFUSED(InvalidDeviceName, "", memory_info("GPU:-1"));
  EXPECT_REFUSED(InvalidArgument, "1 to 65536 ops", Stream("GPU:0", {.most_ops = 0}));
  EXPECT_REFUSED(InvalidArgument, "needs events made with", Event::elapsed(Event(), Event()));
}

TEST_P(Misuse, ListsThatAreEmpty) {
  EXPECT_REFUSED(InvalidArgument, "at least one tensor", add_n(std::vector<Tensor>{}));
  EXPECT_REFUSED(InvalidArgument, "at least one tensor", call_op("AddN", {}));
}

TEST_P(Misuse, HostMemoryThatCannotBeWrapped) {
  float value = 1;
  char* const odd = reinterpret_cast<char*>(&value) + 1;
  EXPECT_REFUSED(InvalidArgument, "null pointer", wrap_host_memory(nullptr, DType::f32, {3}, {}));
  EXPECT_REFUSED(InvalidArgument, "not aligned to the 4 bytes of float32", wrap_host_memory(odd, DType::f32, {1}, {}));
  EXPECT_REFUSED(ShapeError, "cannot be", wrap_host_memory(&value, DType::f32, {-1}, {}));
}

TEST_P(Misuse, ZeroSizesAreNoMistake) {
  const Tensor none = zeros({0, 3});
  EXPECT_EQ((none + ones({1, 3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(exp(none).size(), 0);
  EXPECT_EQ(read<float>(sum(none)), std::vector{0.F});
  EXPECT_EQ(read<float>(sum(none, {0})), std::vector<float>(3, 0.F));
  EXPECT_EQ(read<float>(matmul(ones({2, 0}), none)), std::vector<float>(6, 0.F));
  EXPECT_EQ(matmul(none, ones({3, 2})).shape(), (Shape{0, 2}));
  EXPECT_EQ(nonzero(none).shape(), (Shape{0, 2}));
  EXPECT_EQ(item<std::int64_t>(count_nonzero(none)), 0);
  EXPECT_EQ(take(ones({4, 2}), zeros({0}, DType::i64)).shape(), (Shape{0, 2}));
  EXPECT_TRUE(read<float>(uniform({0})).empty());
  EXPECT_TRUE(read<float>(constant(std::vector<float>{}, {0})).empty());
  EXPECT_EQ(copy_to(none, "GPU:0").shape(), (Shape{0, 3}));
  EXPECT_EQ(add_n({none, none}).shape(), (Shape{0, 3}));
  EXPECT_EQ(read<float>(where(true, none, 1)).size(), 0U);
  Variable v(none);
  v.assign(1);
  v.assign_add(none);
  EXPECT_EQ(reshape(none, {3, 0, 7}).shape(), (Shape{3, 0, 7}));
}

TEST_P(Misuse, NanAndInfinityTravel) {
  const auto n = static_cast<float>(nan);
  const auto inf = static_cast<float>(infinity);
  const Tensor x = constant({n, inf, -inf, 0.F, -0.F});
  const std::vector<float> added = read<float>(x + x);
  EXPECT_TRUE(std::isnan(added[0]) && added[1] == inf && added[2] == -inf);
  const std::vector<float> exponential = read<float>(exp(x));
  EXPECT_TRUE(std::isnan(exponential[0]) && exponential[1] == inf && exponential[2] == 0 && exponential[3] == 1);
  const std::vector<float> rectified = read<float>(relu(x));
  EXPECT_TRUE(std::isnan(rectified[0]) && rectified[1] == inf && rectified[2] == 0);
  EXPECT_TRUE(std::isnan(item<float>(sum(x))));
  EXPECT_TRUE(std::isnan(item<float>(sum(constant({inf, -inf})))));
  EXPECT_EQ(item<float>(sum(constant({inf, 1.F}))), inf);
  const std::vector<float> product = read<float>(matmul(constant({{n, 1.F}, {inf, 0.F}}), constant({{1.F}, {1.F}})));
  EXPECT_TRUE(std::isnan(product[0]) && product[1] == inf);
  EXPECT_EQ(read<std::int32_t>(cast(x, DType::i32)), (std::vector{0, INT32_MAX, INT32_MIN, 0, 0}));
  EXPECT_EQ(read<std::uint8_t>(cast(constant({300.F, -5.F, 2.9F, n}), DType::u8)), (std::vector<std::uint8_t>{255, 0, 2, 0}));
  EXPECT_EQ(read<bool>(cast(x, DType::boolean)), (std::vector{true, true, true, false, false}));
  EXPECT_EQ(item<std::int64_t>(count_nonzero(x)), 3);
}

TEST(Operators, KeepTheLineOfTheirOperands) {
  const Tensor a = ones({2, 3});
  const Tensor w = ones({3});
  const Tensor bad = ones({4});
  EXPECT_REFUSED(ShapeError, "multiply: ", a * bad + w);
  EXPECT_REFUSED(ShapeError, "add: ", a * w + bad);
  EXPECT_REFUSED(ShapeError, "add: ", 2 * a + bad * 1.5);
  // Over several lines: the one where the operand that begins the failing operation stands.
  const std::uint32_t line = __LINE__ + 3;
  try {
    const Tensor first = a * w;
    const Tensor out = multiply(first, 2) * ones({2, 1}) * a + w * ones({2, 3}) * 3 + a * a * a * a * a * 0.5 +
                       w * w * w * w * w * w * 2 + ones({2, 3}) * ones({2, 3}) * bad;
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_STREQ(e.site().file(), __FILE__);
    EXPECT_TRUE(e.site().line() == line || e.site().line() == line + 1) << e.what();
  }
}

}  // namespace
}  // namespace tutti
