// Views share memory, and refuse what NumPy refuses.
#include <gtest/gtest.h>

#include "tutti/tutti.h"

namespace tutti {
namespace {

Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape).value()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return constant(values, shape);
}

const void* memory_of(const Tensor& x) { return x.impl().buffer().get(); }

TEST(Views, ShareTheMemoryOfWhatTheyLookAt) {
  const Tensor x = counting({4, 6});
  EXPECT_EQ(memory_of(slice(x, 0, {1, 3})), memory_of(x));
  EXPECT_EQ(memory_of(transpose(x)), memory_of(x));
  EXPECT_EQ(memory_of(broadcast_to(x, {5, 4, 6})), memory_of(x));
  EXPECT_EQ(memory_of(reshape(x, {2, -1})), memory_of(x));
  EXPECT_EQ(memory_of(reshape(slice(x, 1, {{}, {}, -1}), {2, 2, 6})), memory_of(x)) << "strides allow it";
  EXPECT_NE(memory_of(reshape(transpose(x), {24})), memory_of(x)) << "no strides can say this";
  EXPECT_EQ(memory_of(contiguous(x)), memory_of(x));
  EXPECT_NE(memory_of(contiguous(transpose(x))), memory_of(x));
}

TEST(Views, DoNotRunAnything) {
  simulate_gpus(1);
  const Tensor x = counting({4, 6});
  ASSERT_EQ(last_placement().op, "_EagerConst");
  transpose(reshape(broadcast_to(slice(x, 0, {0, 1}), {3, 6}), {3, 2, 3}));
  EXPECT_EQ(last_placement().op, "_EagerConst");
}

TEST(Views, OutliveWhatTheyLookAt) {
  Tensor row;
  {
    const Tensor x = counting({4, 6});
    row = slice(slice(x, 0, {2, 3}), 1, {{}, {}, -2});
  }
  EXPECT_EQ(read<float>(row), (std::vector{17.F, 15.F, 13.F}));
}

template <class E, class Call>
void expect_refused(Call&& call, std::uint32_t line, const char* part) {
  try {
    call();
    ADD_FAILURE_AT(__FILE__, static_cast<int>(line)) << "was accepted";
  } catch (const E& e) {
    EXPECT_EQ(e.site().line(), line) << e.what();
    EXPECT_STREQ(e.site().file(), __FILE__) << e.what();
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(Views, RefuseWhatNumPyRefuses) {
  const Tensor x = counting({4, 6});
  expect_refused<ShapeError>([&] { slice(x, 2, {}); }, __LINE__,
                             "slice: axis 2 does not exist in a tensor with 2 axes; use -2 to 1");
  expect_refused<ShapeError>([&] { slice(x, -3, {}); }, __LINE__, "axis -3");
  expect_refused<InvalidArgument>([&] { slice(x, 0, {0, 4, 0}); }, __LINE__, "step other than 0");
  expect_refused<ShapeError>([&] { permute_dims(x, {0}); }, __LINE__, "name each of its axes once");
  expect_refused<ShapeError>([&] { permute_dims(x, {0, 0}); }, __LINE__, "twice");
  expect_refused<ShapeError>([&] { permute_dims(x, {0, 2}); }, __LINE__, "axis 2");
  expect_refused<ShapeError>([&] { broadcast_to(x, {4, 7}); }, __LINE__, "cannot be broadcast to (4, 7)");
  expect_refused<ShapeError>([&] { broadcast_to(x, {6}); }, __LINE__, "cannot be broadcast");
  expect_refused<ShapeError>([&] { broadcast_to(x, {-1, 4, 6}); }, __LINE__, "cannot be broadcast");
  expect_refused<ShapeError>([&] { broadcast_to(x, {INT64_MAX, 4, 6}); }, __LINE__, "cannot be broadcast");
  expect_refused<ShapeError>([&] { reshape(x, {5, 5}); }, __LINE__, "the numbers of elements differ");
  expect_refused<ShapeError>([&] { reshape(x, {-1, -1}); }, __LINE__, "only one size may be -1");
  expect_refused<ShapeError>([&] { reshape(x, {-1, 7}); }, __LINE__, "whole number");
  expect_refused<ShapeError>([&] { reshape(x, {-2, -12}); }, __LINE__, "negative");
  expect_refused<ShapeError>([&] { reshape(x, {INT64_MAX, INT64_MAX}); }, __LINE__, "too large");
  expect_refused<ShapeError>([&] { reshape(zeros({0}), {-1, 0}); }, __LINE__, "whole number");
  expect_refused<ShapeError>([&] { sum(x, {0, -2}); }, __LINE__, "sum: axis -2 is given twice in (0, -2)");
  expect_refused<ShapeError>([&] { sum(x, {2}); }, __LINE__, "axis 2");
  EXPECT_EQ(read<float>(sum(x, {0, 1})), std::vector{276.F}) << "x is still usable";
}

}  // namespace
}  // namespace tutti
