// TUTTI_GRAPHS: check compares what a function calls with its record; off runs it as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "graph/samples.h"

namespace tutti::conformance {
namespace {

using testing::HasSubstr;

TEST(CheckedCaptures, NameTheFirstCallThatDiffers) {
  ASSERT_EQ(::setenv("TUTTI_GRAPHS", "check", 1), 0);
  double by = 2;
  const auto step = capture([&](const Tensor& x) { return exp(x) * by; });
  EXPECT_EQ(numbers(step(some(1))), numbers(exp(some(1)) * 2));
  EXPECT_EQ(numbers(step(some(2))), numbers(exp(some(2)) * 2));
  by = 3;
  try {
    (void)step(some(1));
    FAIL() << "the change was not seen";
  } catch (const InvalidState& e) {
    EXPECT_THAT(e.what(), HasSubstr("call 2 was Mul"));
    EXPECT_THAT(e.what(), HasSubstr("checked_captures_test.cc"));
  }
}

TEST(CheckedCaptures, SeeConstantsOfTheHostsAndBranches) {
  ASSERT_EQ(::setenv("TUTTI_GRAPHS", "check", 1), 0);
  float value = 1;
  bool is_longer = false;
  const auto step = capture([&](const Tensor& x) {
    Tensor out = x + constant({value});
    if (is_longer) out = tanh(out);
    return out;
  });
  (void)step(some(1));
  (void)step(some(1));
  value = 2;
  EXPECT_THROW((void)step(some(1)), InvalidState);
  value = 1;
  (void)step(some(1));
  is_longer = true;
  try {
    (void)step(some(1));
    FAIL() << "the branch was not seen";
  } catch (const InvalidState& e) {
    EXPECT_THAT(e.what(), HasSubstr("the first that differs is Tanh"));
  }
}

TEST(CheckedCaptures, SeeThatAnotherVariableIsReadOrWritten) {
  ASSERT_EQ(::setenv("TUTTI_GRAPHS", "check", 1), 0);
  const Variable first(some(1));
  const Variable second(some(2));
  for (const bool is_written : {false, true}) {
    const Variable* used = &first;
    const auto step = capture([&](const Tensor& x) {
      if (is_written) used->assign(x);
      return is_written ? x * 2 : x + *used;
    });
    (void)step(some(3));
    EXPECT_NO_THROW((void)step(some(3)));
    used = &second;
    EXPECT_THROW((void)step(some(3)), InvalidState) << is_written;
  }
}

TEST(CheckedCaptures, SeeThatAnotherTensorIsTakenFromOutside) {
  ASSERT_EQ(::setenv("TUTTI_GRAPHS", "check", 1), 0);
  Tensor taken = ones({3});
  const auto step = capture([&](const Tensor& x) { return x * taken; });
  (void)step(ones({3}));
  EXPECT_NO_THROW((void)step(ones({3})));
  taken = full({3}, 5.F);
  EXPECT_THROW((void)step(ones({3})), InvalidState);
}

TEST(CheckedCaptures, SeeThatACopyGoesToAnotherDevice) {
  ASSERT_EQ(::setenv("TUTTI_GRAPHS", "check", 1), 0);
  simulate_gpus(2);
  std::string to = "GPU:0";
  const auto step = capture([&](const Tensor& x) { return copy_to(x * 2, to); });
  const DeviceScope on("GPU:0");
  (void)step(ones({3}));
  EXPECT_NO_THROW((void)step(ones({3})));
  to = "GPU:1";
  EXPECT_THROW((void)step(ones({3})), InvalidState);
}

TEST(CheckedCaptures, DoNotMindThatDrawsAdvance) {
  ASSERT_EQ(::setenv("TUTTI_GRAPHS", "check", 1), 0);
  const auto step = capture([](const Tensor& x) { return grad([](const Tensor& y) { return sum(dropout(y, 0.5)); })(x); });
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_NO_THROW((void)step(some(i)));
}

TEST(CheckedCaptures, AreNotMadeWhereGraphsAreOff) {
  ASSERT_EQ(::setenv("TUTTI_GRAPHS", "off", 1), 0);
  int runs = 0;
  const auto step = capture([&](const Tensor& x) {
    ++runs;
    return item<float>(sum(x)) > 0 ? x : x + 1;
  });
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(numbers(step(some(i))), numbers(some(i)));
  EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace tutti::conformance
