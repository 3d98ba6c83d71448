// Softmax, running sums and products, and layer_norm along columns: the GPU gives what the CPU gives, whether a block or a
// cluster holds a strip of columns, whether their number fills packs, and whether the operand lies as columns or turned so that
// it does.
#include "cuda/against_cpu.h"

namespace tutti::testing_cuda {

namespace {

using Columns = AgainstCpu;

struct Case {
  Shape shape;  // rows and columns come last
  Lie lie = Lie::dense;
};

// By one block, by a cluster with rows to spare or none; matrices one after the other; strips and packs that are not full;
// columns too long to be held.
std::vector<Case> cases() {
  return {{{1, 32}},
          {{33, 16}},
          {{1000, 36}},
          {{1024, 37}},
          {{3, 300, 20}},
          {{1025, 60}},
          {{2, 1300, 24}},
          {{2000, 17}},
          {{3000, 20}},
          {{50, 1025}},
          {{8192, 1024}},
          {{1500, 1027}},
          {{8200, 1024}},
          {{60, 900}, Lie::transposed},
          {{1100, 1200}, Lie::transposed},
          {{7, 1029}, Lie::shifted}};
}

std::int64_t axis_of(const Case& each) { return each.lie == Lie::transposed ? -1 : -2; }
std::int64_t length_of(const Case& each) { return each.shape[each.shape.size() - static_cast<std::size_t>(-axis_of(each))]; }

}  // namespace

TEST_F(Columns, SoftmaxAndItsLogarithm) {
  // Powers of 3 ulp, chains of 32 of them on either side, a division.
  const Tolerance close{.ulps = 2 * (3 + 32 + 1)};
  for (const Case& each : cases()) {
    for (const DType dtype : floating_dtypes) {
      const Input x{dtype, each.shape, each.lie, Draw::moderate};
      expect_same(
          "Softmax", {x}, [&](Inputs in) { return softmax(in[0], axis_of(each)); }, close);
      expect_same("LogSoftmax", {x}, [&](Inputs in) { return log_softmax(in[0], axis_of(each)); },
                  {.steps = close.ulps, .magnitude = [](Inputs in) { return full_like(in[0], 16); }});
    }
  }
}

TEST_F(Columns, LayerNormOfTurnedRows) {
  for (const Case& each : cases()) {
    if (each.lie != Lie::transposed) continue;
    const std::int64_t length = length_of(each);
    for (const DType dtype : floating_dtypes) {
      const Input x{dtype, each.shape, each.lie, Draw::moderate};
      const Input row{dtype, {length}, Lie::dense, Draw::moderate};
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
      const Input x{dtype, each.shape, each.lie, Draw::moderate};
      const auto sums = [&](Inputs in) { return cumsum(in[0], axis_of(each)); };
      const Tolerance close{.steps = is_floating(dtype) ? 2.0 * longest_chain : 0, .magnitude = sums};
      expect_same("Cumsum", {x}, sums, close);
      expect_same(
          "Cumsum", {x}, [&](Inputs in) { return cumulative_sum(in[0], {.axis = axis_of(each), .include_initial = true}); },
          is_floating(dtype)
              ? Tolerance{.steps = close.steps,
                          .magnitude =
                              [&](Inputs in) { return cumulative_sum(in[0], {.axis = axis_of(each), .include_initial = true}); }}
              : Tolerance{});
    }
  }
}

TEST_F(Columns, RunningProducts) {
  for (const Case& each : cases()) {
    for (const DType dtype : all_dtypes) {
      const Input x{dtype, each.shape, each.lie, Draw::moderate};
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

}  // namespace tutti::testing_cuda
