// Softmax, running sums and products, and layer_norm along columns: the GPU gives what the CPU gives, whether or not
// their number fills packs, and whether the operand has columns or is transposed so that it does.
#include <algorithm>

#include "cuda/against_cpu.h"

namespace tutti::testing_cuda {

namespace {

using Columns = AgainstCpu;

struct Case {
  Shape shape;  // rows and columns come last
  Arrangement arrangement = Arrangement::dense;
};

// Few rows or several tiles of them; matrices one after the other; strips and packs that are not full; operands that arrangement
// turned.
std::vector<Case> cases() {
  std::vector<Case> all{{{1, 32}},
                        {{33, 16}},
                        {{1000, 36}},
                        {{1024, 37}},
                        {{3, 300, 20}},
                        {{1025, 60}},
                        {{2, 1300, 24}},
                        {{2000, 17}},
                        {{60, 900}, Arrangement::transposed},
                        {{7, 1029}, Arrangement::shifted}};
  if (is_small_run()) return all;
  for (const Shape& large : {Shape{300, 4096}, Shape{129, 4099}, Shape{1500, 4100}, Shape{4200, 2048}}) all.push_back({large});
  all.push_back({{4100, 700}, Arrangement::transposed});
  return all;
}

std::int64_t axis_of(const Case& each) { return each.arrangement == Arrangement::transposed ? -1 : -2; }
std::int64_t length_of(const Case& each) { return each.shape[each.shape.size() - static_cast<std::size_t>(-axis_of(each))]; }

// What tests/oracle allows a running sum of n, on either side: every fourth addition is in the chain.
double steps_of_sums(std::int64_t n) { return 2 * std::max<double>(longest_chain, 24 + static_cast<double>(n) / 4); }

}  // namespace

TEST_F(Columns, SoftmaxAndItsLogarithm) {
  // Powers of 3 ulp, chains of 32 of them, a division, on either side. The magnitude is that of magnitudes: at least a quarter.
  constexpr double steps = 2 * (3 + 32 + 1);
  for (const Case& each : cases()) {
    for (const DType dtype : floating_dtypes) {
      const Input x{dtype, each.shape, each.arrangement, Draw::moderate};
      const auto shares = [&](Inputs in) { return softmax(in[0], axis_of(each)); };
      expect_same("Softmax", {x}, shares, {.steps = 4 * steps, .magnitude = shares});
      expect_same("LogSoftmax", {x}, [&](Inputs in) { return log_softmax(in[0], axis_of(each)); },
                  {.steps = steps, .magnitude = [](Inputs in) { return full_like(in[0], 16); }});
    }
  }
}

TEST_F(Columns, LayerNormOfTransposedRows) {
  for (const Case& each : cases()) {
    if (each.arrangement != Arrangement::transposed) continue;
    const std::int64_t length = length_of(each);
    for (const DType dtype : floating_dtypes) {
      const Input x{dtype, each.shape, each.arrangement, Draw::moderate};
      const Input row{dtype, {length}, Arrangement::dense, Draw::moderate};
      const Tolerance close{.steps = 2 * (32 + 8), .magnitude = [](Inputs in) { return full_like(in[0], 16); }};
      expect_same(
          "LayerNorm", {x}, [](Inputs in) { return layer_norm(in[0], {}, {}); }, close);
      expect_same(
          "LayerNorm", {x, row, row}, [](Inputs in) { return layer_norm(in[0], in[1], in[2]); }, close);
    }
  }
}

TEST_F(Columns, RunningSums) {
  for (const Case& each : cases()) {
    for (const DType dtype : all_dtypes) {
      const Input x{dtype, each.shape, each.arrangement, Draw::moderate};
      const auto sums = [&](Inputs in) { return cumsum(in[0], axis_of(each)); };
      const Tolerance close{.steps = is_floating(dtype) ? steps_of_sums(length_of(each)) : 0, .magnitude = sums};
      expect_same("Cumsum", {x}, sums, close);
      expect_same(
          "Cumsum", {x}, [&](Inputs in) { return cumulative_sum(in[0], axis_of(each), {.include_initial = true}); },
          is_floating(dtype)
              ? Tolerance{.steps = close.steps,
                          .magnitude = [&](Inputs in) { return cumulative_sum(in[0], axis_of(each), {.include_initial = true}); }}
              : Tolerance{});
    }
  }
}

// By a warp, by a block, by several with what comes before each.
TEST_F(Columns, RunningSumsOfOneElementThatRepeats) {
  for (const Shape& shape : {Shape{300, 40}, Shape{2100, 300}, Shape{70'000, 3}}) {
    for (const DType dtype : all_dtypes) {
      const Input x{dtype, shape, Arrangement::expanded, Draw::moderate};
      const auto sums = [](Inputs in) { return cumulative_sum(in[0], 0, {.include_initial = true}); };
      expect_same("Cumsum", {x}, sums,
                  is_floating(dtype) ? Tolerance{.steps = steps_of_sums(shape[0]), .magnitude = sums} : Tolerance{});
    }
  }
}

TEST_F(Columns, RunningProducts) {
  for (const Case& each : cases()) {
    for (const DType dtype : all_dtypes) {
      const Input x{dtype, each.shape, each.arrangement, Draw::moderate};
      const bool is_real = is_floating(dtype);
      const auto products = [&](Inputs in) {
        const Tensor factors = is_real ? add(multiply(in[0], 0.001), 1) : in[0];  // products that stay in range
        return cumprod(factors, axis_of(each));
      };
      // In f64, where each of them rounds once; rounded to what is stored.
      const double steps = dtype == DType::f64 ? 2.0 * static_cast<double>(length_of(each)) : is_real ? 2.0 : 0.0;
      expect_same("Cumprod", {x}, products, {.steps = steps, .magnitude = products});
    }
  }
}

TEST_F(Columns, PlacesAndTruths) {
  for (const Case& each : cases()) {
    for (const DType dtype : all_dtypes) {
      for (const Draw draw : {Draw::any, Draw::sparse}) {  // NaN, and many that are alike
        const Input x{dtype, each.shape, each.arrangement, draw};
        const std::int64_t axis = axis_of(each);
        if (dtype != DType::boolean) {
          expect_same("ArgMax", {x}, [&](Inputs in) { return argmax(in[0], axis); });
          expect_same("ArgMin", {x}, [&](Inputs in) { return argmin(in[0], axis); });
          expect_same("ArgMax", {x}, [&](Inputs in) { return argmax(in[0]); });
        }
        expect_same("Any", {x}, [&](Inputs in) { return any(in[0], {axis}); });
        expect_same("All", {x}, [&](Inputs in) { return all(in[0], {axis}); });
      }
    }
  }
}

TEST_F(Columns, SpreadsAndSumsOfPowers) {
  for (const Case& each : cases()) {
    for (const DType dtype : floating_dtypes) {
      const Input x{dtype, each.shape, each.arrangement, Draw::moderate};
      const std::int64_t axis = axis_of(each);
      expect_same("Var", {x}, [&](Inputs in) { return var(in[0], {axis}); },
                  {.steps = 2.0 * longest_chain, .magnitude = [&](Inputs in) { return mean(multiply(in[0], in[0]), {axis}); }});
      const auto logarithm = [&](Inputs in) { return logsumexp(in[0], {axis}); };
      expect_same("LogSumExp", {x}, logarithm, {.steps = 2 * (3 + 32), .magnitude = logarithm});
    }
  }
}

TEST_F(Columns, DropTheElementsThatRowsDrop) {
  for (const DType dtype : floating_dtypes) {
    for (const Shape& shape : {Shape{60, 900}, Shape{64, 33}, Shape{8, 7}, Shape{4, 4}}) {
      expect_same("Dropout", {{dtype, shape, Arrangement::transposed, Draw::moderate}},
                  [](Inputs in) { return dropout(in[0], 0.3, {.key = 7, .counter = 5}); });
    }
  }
}

TEST_F(Columns, RepeatElementsSideBySide) {
  for (const DType dtype : all_dtypes) {
    for (const Shape& shape : {Shape{33, 16}, Shape{7, 1029}, Shape{4096}}) {
      for (const std::int64_t times : {2, 3, 4, 7, 16}) {
        for (const Arrangement arrangement : {Arrangement::dense, Arrangement::shifted})
          expect_same("", {{dtype, shape, arrangement}}, [&](Inputs in) { return repeat(in[0], times, -1); });
      }
    }
  }
}

}  // namespace tutti::testing_cuda
