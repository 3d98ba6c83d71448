// Element-wise kernels in a row over large tensors are one pass, with the values of the function itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "conformance/backend.h"
#include "graph/samples.h"

namespace tutti::conformance {
namespace {

using testing::HasSubstr;
using testing::Not;

class Fusion : public OnBackend {
 protected:
  void TearDown() override { clear_faults(); }
};

const Shape large{301, 257};  // no whole number of tiles

TEST_P(Fusion, AChainGivesTheFunctionsValues) {
  const Tensor scale = some(7, {});
  const auto function = [&](const Tensor& x, const Tensor& w) {
    const Tensor y = gelu(x * w + 0.5) * scale;
    return std::vector{tanh(y) - x, y + w};
  };
  const auto step = capture(function);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::vector<Tensor> given = step(some(i, large), some(i + 10, large));
    const std::vector<Tensor> wanted = function(some(i, large), some(i + 10, large));
    EXPECT_TRUE(is_same(given[0], wanted[0]));
    EXPECT_TRUE(is_same(given[1], wanted[1]));
  }
  if (GetParam().backend != "cuda") {
    EXPECT_THAT(explain(step), HasSubstr("fused Mul"));
  }
}

TEST_P(Fusion, TransposedOperandsAndOtherDtypesToo) {
  const auto function = [](const Tensor& x, const Tensor& y) {
    return cast(exp(cast(x, DType::f64) * 0.5) + cast(y, DType::f64), DType::f32) * 2;
  };
  const auto step = capture(function);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Tensor x = transpose(some(i, large));
    const Tensor y = i == 1 ? some(i + 20, {257, 301}) : transpose(some(i + 10, large));
    EXPECT_TRUE(is_same(step(x, y), function(x, y)));
  }
}

TEST_P(Fusion, AVariableThatIsReadAndWrittenInTheChainIsRight) {
  const Variable plain(some(1, large));
  const Variable captured(some(1, large));
  const auto function = [](const Variable& variable, const Tensor& x) {
    const Tensor before = variable * 2;
    variable.assign(variable - x * 0.5);
    variable.assign_add(before * 0.25);
    return before + variable;
  };
  const auto step = capture([&](const Tensor& x) { return function(captured, x); });
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(is_same(step(some(i, large)), function(plain, some(i, large))));
    EXPECT_TRUE(is_same(captured, plain));
  }
}

TEST_P(Fusion, PartsOfOneTensorAtDifferentPlacesAreNotMixedUp) {
  const auto function = [](const Tensor& x) {
    const Variable own(x);
    const Tensor first = slice(own.value(), 0, {0, 200}) * 2;
    own.assign(tanh(own) + 1);
    const Tensor last = slice(own.value(), 0, {101, 301}) * 3;
    return first + last;
  };
  const auto step = capture(function);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(is_same(step(some(i, large)), function(some(i, large))));
}

TEST_P(Fusion, AFaultInsideIsBlamedOnItsOp) {
  if (GetParam().backend != "sim") GTEST_SKIP() << "faults are injected into simulated GPUs";
  const auto step = capture([](const Tensor& x) { return std::vector{exp(x * 2), tanh(x)}; });
  (void)step(some(1, large));
  sync_devices();
  inject_fault({.kind = FaultKind::kernel, .op = "Exp"});
  const std::vector<Tensor> results = step(some(1, large));
  try {
    (void)numbers(results[0]);
    FAIL() << "the fault was lost";
  } catch (const KernelFailed& e) {
    EXPECT_THAT(e.what(), HasSubstr("in replay 1 "));
  }
  EXPECT_TRUE(is_same(results[1], tanh(some(1, large))));
  clear_errors();
  EXPECT_TRUE(is_same(step(some(1, large))[0], exp(some(1, large) * 2)));
}

TUTTI_ON_EVERY_BACKEND(Fusion);

TEST(FusionOff, IsOffWhereTheEnvironmentSaysSo) {
  ASSERT_EQ(::setenv("TUTTI_FUSION", "off", 1), 0);
  const auto step = capture([](const Tensor& x) { return exp(x * 2); });
  (void)step(some(1, large));
  EXPECT_THAT(explain(step), Not(HasSubstr("fused")));
  EXPECT_TRUE(is_same(step(some(2, large)), exp(some(2, large) * 2)));
}

}  // namespace
}  // namespace tutti::conformance
