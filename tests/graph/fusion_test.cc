// Element-wise kernels in a row over large tensors are one pass, with the values of the function itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <sstream>
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

// Whether all kernels of what was captured are in one group.
bool is_one_pass(const std::string& told) {
  std::size_t kernels = 0;
  std::size_t fused = 0;
  std::istringstream lines(told);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" at ") == std::string::npos || !line.starts_with("    ")) continue;
    ++kernels;
    if (line.starts_with("        + ")) ++fused;
  }
  return fused > 0 && fused + 1 == kernels;
}

TEST_P(Fusion, ARowAColumnAndOneElementAreBroadcastWithinThePass) {
  for (const Shape& shape : {Shape{301, 257}, Shape{7000, 10}, Shape{3, 40000}, Shape{20, 60, 61}}) {
    SCOPED_TRACE(to_string(shape));
    const std::int64_t columns = shape[shape.size() - 1];
    Shape of_column = shape;
    of_column[of_column.size() - 1] = 1;
    const auto function = [](const Tensor& x, const Tensor& row, const Tensor& column, const Tensor& one) {
      const Tensor y = gelu(x * row + one);
      return std::vector{(y - column) * 0.5, maximum(y, row)};
    };
    const auto step = capture(function);
    for (std::uint64_t i = 0; i < 3; ++i) {
      const std::vector<Tensor> given{some(i, shape), some(i + 1, {columns}), some(i + 2, of_column), some(i + 3, {})};
      const std::vector<Tensor> results = step(given[0], given[1], given[2], given[3]);
      const std::vector<Tensor> wanted = function(given[0], given[1], given[2], given[3]);
      EXPECT_TRUE(is_same(results[0], wanted[0]));
      EXPECT_TRUE(is_same(results[1], wanted[1]));
    }
    EXPECT_TRUE(is_one_pass(explain(step))) << explain(step);
  }
}

TEST_P(Fusion, AnExtremumOfARowWithNaNIsNaN) {
  const auto function = [](const Tensor& x) { return std::vector{max(x * 2, 1), min(x + 1, 1)}; };
  const auto step = capture(function);
  const Tensor rows = reshape(arange(40960, {.dtype = DType::f32}), {320, 128});
  const Tensor x = where(equal(rows, 200), std::numeric_limits<float>::quiet_NaN(), rows);
  for (int i = 0; i < 2; ++i) {
    const std::vector<Tensor> given = step(x);
    for (const Tensor& each : given) {
      EXPECT_TRUE(item<bool>(isnan(index(each, {1}))));
      EXPECT_EQ(item<std::int64_t>(sum(cast(isnan(each), DType::i64))), 1);
    }
    EXPECT_EQ(item<float>(index(given[0], {319})), 2 * 40959.f);
    EXPECT_EQ(item<float>(index(given[1], {0})), 1);
  }
}

TEST_P(Fusion, AReductionOfRowsClosesThePass) {
  for (const Shape& shape : {Shape{301, 257}, Shape{7000, 10}, Shape{20, 60, 61}, Shape{40, 4096}, Shape{20, 3, 1, 700},
                             Shape{64, 512}, Shape{9000, 36}}) {
    SCOPED_TRACE(to_string(shape));
    const std::int64_t last = static_cast<std::int64_t>(shape.size()) - 1;
    for (int kind = 0; kind < 4; ++kind) {
      const auto function = [&](const Tensor& x, const Tensor& row) {
        const Tensor y = tanh(x * row) + x;
        switch (kind) {
          case 0: return std::vector{sum(y, last)};
          case 1: return std::vector{y, mean(cast(y, DType::bf16), {last}, {.keepdims = true})};
          case 2: return std::vector{max(square(x), last)};
          default: return std::vector{x - sum(exp(y), {last}, {.keepdims = true})};
        }
      };
      const auto step = capture(function);
      for (std::uint64_t i = 0; i < 3; ++i) {
        const Tensor x = some(i, shape);
        const Tensor row = some(i + 7, {shape[shape.size() - 1]});
        const std::vector<Tensor> given = step(x, row);
        const std::vector<Tensor> wanted = function(x, row);
        for (std::size_t k = 0; k < wanted.size(); ++k) EXPECT_TRUE(is_same(given[k], wanted[k])) << kind << " " << k;
      }
      // On CUDA rows of 4 KiB at most.
      if (kind < 3 && (GetParam().backend != "cuda" || shape[shape.size() - 1] <= 1024)) {
        EXPECT_TRUE(is_one_pass(explain(step))) << explain(step);
      }
    }
  }
}

TEST_P(Fusion, ComparisonsCastsAndChoicesArePartOfThePass) {
  const auto function = [](const Tensor& x, const Tensor& y) {
    const Tensor whole = cast(cast(x * 10, DType::i32), DType::f32);
    return where(greater(x, y), whole, cast(cast(y, DType::bf16), DType::f32) * 2);
  };
  const auto step = capture(function);
  for (std::uint64_t i = 0; i < 3; ++i)
    EXPECT_TRUE(is_same(step(some(i, large), some(i + 9, large)), function(some(i, large), some(i + 9, large))));
  if (GetParam().backend != "cuda") {
    EXPECT_TRUE(is_one_pass(explain(step))) << explain(step);
  }
}

TEST_P(Fusion, WhatPassesBetweenKernelsTakesNoMemory) {
  if (GetParam().backend == "cuda") GTEST_SKIP() << "there it is in memory, for when the kernels run one by one";
  const auto step = capture([](const Tensor& x, const Tensor& w) { return gelu(x * w + 1) * w - x; });
  (void)step(some(1, large), some(2, large));
  EXPECT_THAT(explain(step), HasSubstr("memory: 0 B planned, where each value in memory of its own would take 1.18 MiB"));
}

// Results so large that they are written past the caches, at places that are no multiple of anything.
TEST_P(Fusion, ResultsLargerThanTheCachesAreRight) {
  const Shape huge{1'000'003};
  const auto function = [](const std::vector<Tensor>& t) {
    const Tensor y = t[0] * t[1] + t[2];
    const Tensor z = y * t[3] + t[4];
    return std::vector{y, z, relu(z) - y, cast(z, DType::bf16)};
  };
  const auto step = capture(function);
  for (std::uint64_t i = 0; i < 2; ++i) {
    std::vector<Tensor> given;
    for (std::uint64_t k = 0; k < 5; ++k) given.push_back(some(i + k, huge));
    const std::vector<Tensor> results = step(given);
    const std::vector<Tensor> wanted = function(given);
    for (std::size_t k = 0; k < wanted.size(); ++k) EXPECT_TRUE(is_same(results[k], wanted[k])) << k;
  }
}

TEST_P(Fusion, AFailedInputSpoilsWhatDependsOnItAndTheRestOfThePassRuns) {
  const auto function = [](const Tensor& x, const Tensor& y) {
    const Tensor a = exp(x) + 1;
    const Tensor b = tanh(y) * 2;
    return std::vector{a * 3, b - 1, a + b};
  };
  const auto step = capture(function);
  const Tensor good = some(1, {40000});
  (void)step(good, good);
  const Tensor failed = take(good, full({40000}, 50000, DType::i64), 0);
  const std::vector<Tensor> results = step(good, failed);
  EXPECT_TRUE(is_same(results[0], function(good, good)[0]));
  EXPECT_THROW((void)numbers(results[1]), AsyncError);
  EXPECT_THROW((void)numbers(results[2]), AsyncError);
  clear_errors();
  EXPECT_TRUE(is_same(step(good, good)[2], function(good, good)[2]));
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

TEST_P(Fusion, TheReluOfALayerIsDoneByTheLayerWhereNobodyReadsWhatIsBetween) {
  const Tensor weight = some(7, {4, 3});
  const Tensor bias = some(8, {3});
  const auto function = [&](const Tensor& x) { return relu(linear(x, weight, bias)); };
  const auto both = [&](const Tensor& x) {
    const Tensor sum = linear(x, weight, bias);
    return std::vector{relu(sum), sum};
  };
  const auto step = capture(function);
  const auto kept = capture(both);
  (void)step(some(1, {5, 4}));
  (void)kept(some(1, {5, 4}));
  EXPECT_THAT(explain(step), Not(HasSubstr("Relu")));
  EXPECT_THAT(explain(kept), HasSubstr("Relu"));
  const Tensor x = some(2, {5, 4});
  const auto expect_near = [](const Tensor& found, const Tensor& wanted) {
    EXPECT_TRUE(item<bool>(allclose(found, wanted)));  // on a GPU the algorithm may be another one
  };
  expect_near(step(x), function(x));
  expect_near(kept(x)[0], both(x)[0]);
  expect_near(kept(x)[1], both(x)[1]);
}

TEST_P(Fusion, AFaultInsideIsBlamedOnItsOpAndItsLine) {
  if (GetParam().backend != "sim") GTEST_SKIP() << "faults are injected into simulated GPUs";
  const Site line;
  const auto function = [&](const Tensor& x) { return std::vector{exp(x * 2, line), tanh(x)}; };
  const auto step = capture(function);
  (void)step(some(1, large));
  const auto told_by = [](const auto& run) {
    sync_devices();
    inject_fault({.kind = FaultKind::kernel, .op = "Exp"});
    const std::vector<Tensor> results = run(some(1, large));
    std::string told = "the fault was lost";
    try {
      (void)numbers(results[0]);
    } catch (const KernelFailed& e) {
      told = e.what();
    }
    EXPECT_TRUE(is_same(results[1], tanh(some(1, large))));
    clear_errors();
    return told;
  };
  const std::string told = told_by(step);
  EXPECT_THAT(told, HasSubstr(", in replay 1 "));
  EXPECT_THAT(told, HasSubstr("[at " + line.to_string() + "]"));
  const std::string by_itself = told_by(function);
  EXPECT_THAT(told, testing::EndsWith(by_itself.substr(by_itself.find(" (op ")))) << "the op is the same";
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
