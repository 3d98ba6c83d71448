// Normalisations, losses, dropout and lookups, over dtypes and layouts, judged by NumPy.
#include <gtest/gtest.h>

#include <cstring>

#include "oracle/oracle.h"

namespace tutti::oracle {
namespace {

constexpr std::array floats{DType::f16, DType::bf16, DType::f32, DType::f64};

Layout any_layout(Random& random) { return all_layouts[static_cast<std::size_t>(random.from(0, all_layouts.size() - 1))]; }
std::string axis_text(std::int64_t axis) { return R"("axis":)" + std::to_string(axis); }
const char* truth(bool x) { return x ? "true" : "false"; }

std::int64_t any_axis(Random& random, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  return random.from(-rank, rank - 1);
}

// Dense indices in low ... high - 1, of either width.
Input indices_in(Random& random, const Shape& shape, std::int64_t low, std::int64_t high) {
  const bool is_wide = random.one_in(2);
  const std::int64_t count = element_count(shape).value();
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * (is_wide ? 8 : 4));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = random.from(low, high - 1);
    const auto narrow = static_cast<std::int32_t>(index);
    if (is_wide) std::memcpy(bytes.data() + i * 8, &index, 8);
    if (!is_wide) std::memcpy(bytes.data() + i * 4, &narrow, 4);
  }
  return make_input(is_wide ? DType::i64 : DType::i32, shape, bytes);
}

TEST(NeuralAgainstNumPy, SoftmaxAndItsLogarithmAlongAnyAxis) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for (const DType dtype : floats) {
      for (const Layout layout : all_layouts) {
        for (const Values values : {Values::any, Values::small_range}) {
          const Shape shape = random.shape(1, 4);
          const std::int64_t axis = any_axis(random, shape);
          const Input x = random_input(random, dtype, shape, layout, values);
          oracle.add(random.seed(), "softmax", axis_text(axis), {&x}, softmax(x.tensor, axis));
          oracle.add(random.seed(), "log_softmax", axis_text(axis), {&x}, log_softmax(x.tensor, axis));
        }
      }
    }
  });
}

TEST(NeuralAgainstNumPy, SoftmaxOfLongLines) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    for (const DType dtype : floats) {
      for (const Shape& shape : {Shape{900, 65}, Shape{20, random.from(3000, 5000)}, Shape{3, random.from(20'000, 40'000)},
                                 Shape{2, random.from(140'000, 200'000)}}) {
        const Input x = random_input(random, dtype, shape, Layout::dense, Values::small_range);
        oracle.add(random.seed(), "softmax", axis_text(1), {&x}, softmax(x.tensor, 1));
        oracle.add(random.seed(), "log_softmax", axis_text(1), {&x}, log_softmax(x.tensor));
      }
    }
  });
}

TEST(NeuralAgainstNumPy, SoftmaxDownColumns) {
  compare_with_numpy(2, [](Random& random, Oracle& oracle) {
    for (const DType dtype : floats) {
      for (const Shape& shape : {Shape{random.from(1, 40), random.from(64, 200)}, Shape{3, random.from(1, 50), 7, 11},
                                 Shape{random.from(40, 90), random.from(2048, 2100)}, Shape{40, 33, 67}}) {
        const Values values = random.one_in(2) ? Values::any : Values::small_range;
        const Input x = random_input(random, dtype, shape, Layout::dense, values);
        const std::int64_t axis = shape.size() == 2 ? 0 : 1;
        oracle.add(random.seed(), "softmax", axis_text(axis), {&x}, softmax(x.tensor, axis));
        oracle.add(random.seed(), "log_softmax", axis_text(axis), {&x}, log_softmax(x.tensor, axis));
      }
    }
  });
}

void add_layer_norm(Random& random, Oracle& oracle, DType dtype, const Shape& shape, std::int64_t axes, Layout layout) {
  const Input x = random_input(random, dtype, shape, layout, Values::moderate);
  const Shape normalised(shape.view().last(static_cast<std::size_t>(axes)));
  const Input weight = random_input(random, dtype, normalised, any_layout(random), Values::moderate);
  const Input bias = random_input(random, dtype, normalised, any_layout(random), Values::moderate);
  const bool has_weight = !random.one_in(3);
  const bool has_bias = !random.one_in(3);
  std::vector<const Input*> inputs{&x};
  if (has_weight) inputs.push_back(&weight);
  if (has_bias) inputs.push_back(&bias);
  const double epsilon = random.one_in(2) ? 1e-5 : 0.125;
  oracle.add(random.seed(), "layer_norm",
             R"("axes":)" + std::to_string(axes) + R"(,"epsilon":)" + (epsilon == 0.125 ? "0.125" : "1e-5") + R"(,"weight":)" +
                 truth(has_weight) + R"(,"bias":)" + truth(has_bias),
             inputs,
             layer_norm(x.tensor, has_weight ? weight.tensor : Tensor{}, has_bias ? bias.tensor : Tensor{},
                        {.axes = axes, .epsilon = epsilon}));
}

TEST(NeuralAgainstNumPy, LayerNormOverTheLastAxes) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for (const DType dtype : floats) {
      for (const Layout layout : all_layouts) {
        const Shape shape = random.shape(1, 4);
        add_layer_norm(random, oracle, dtype, shape, random.from(1, static_cast<std::int64_t>(shape.size())), layout);
      }
    }
  });
}

TEST(NeuralAgainstNumPy, LayerNormOfLongLines) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    for (const DType dtype : floats) {
      for (const Shape& shape : {Shape{900, 65}, Shape{20, random.from(3000, 5000)}, Shape{3, random.from(20'000, 40'000)},
                                 Shape{2, random.from(140'000, 200'000)}})
        add_layer_norm(random, oracle, dtype, shape, 1, Layout::dense);
    }
  });
}

TEST(NeuralAgainstNumPy, Linear) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for (const DType dtype : floats) {
      for (const Layout layout : all_layouts) {
        const std::int64_t inputs = random.one_in(8) ? 0 : random.from(1, 40);
        const std::int64_t outputs = random.from(1, 70);
        Shape shape = random.shape(0, 2);
        shape.push_back(inputs);
        const Input x = random_input(random, dtype, shape, layout, Values::moderate);
        const Input weight = random_input(random, dtype, {inputs, outputs}, any_layout(random), Values::moderate);
        const Input bias = random_input(random, dtype, {outputs}, any_layout(random), Values::moderate);
        oracle.add(random.seed(), "linear", "", {&x, &weight, &bias}, linear(x.tensor, weight.tensor, bias.tensor));
      }
    }
  });
}

TEST(NeuralAgainstNumPy, CrossEntropyOfLabels) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for (const DType dtype : floats) {
      for (const Layout layout : all_layouts) {
        Shape shape = random.shape(1, 3);
        const std::size_t axis = shape.size() > 1 ? 1 : 0;
        if (shape[axis] == 0) shape[axis] = 1;
        Shape lines;
        for (std::size_t i = 0; i < shape.size(); ++i) {
          if (i != axis) lines.push_back(shape[i]);
        }
        const bool ignores = random.one_in(2);
        const Input x = random_input(random, dtype, shape, layout, Values::small_range);
        const Input labels = indices_in(random, lines, ignores ? -1 : 0, shape[axis]);
        const std::int64_t kind = random.from(0, 2);
        const std::array names{"none", "sum", "mean"};
        CrossEntropyOptions options{.reduction = std::array{LossReduction::none, LossReduction::sum,
                                                            LossReduction::mean}[static_cast<std::size_t>(kind)]};
        if (ignores) options.ignore_index = -1;
        oracle.add(random.seed(), "cross_entropy",
                   R"("reduction":")" + std::string(names[static_cast<std::size_t>(kind)]) + R"(","ignore_index":)" +
                       (ignores ? "-1" : "null"),
                   {&x, &labels}, cross_entropy(x.tensor, labels.tensor, options));
      }
    }
  });
}

TEST(NeuralAgainstNumPy, CrossEntropyOfManyClassesAndManyLines) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    for (const DType dtype : floats) {
      for (const Shape& shape : {Shape{3000, 10}, Shape{9, 5001}, Shape{2, 140'000}}) {
        const Input x = random_input(random, dtype, shape, Layout::dense, Values::small_range);
        const Input labels = indices_in(random, {shape[0]}, 0, shape[1]);
        oracle.add(random.seed(), "cross_entropy", R"("reduction":"mean","ignore_index":3)", {&x, &labels},
                   cross_entropy(x.tensor, labels.tensor, {.ignore_index = 3}));
        oracle.add(random.seed(), "cross_entropy", R"("reduction":"none","ignore_index":null)", {&x, &labels},
                   cross_entropy(x.tensor, labels.tensor, {.reduction = LossReduction::none}));
      }
    }
  });
}

TEST(NeuralAgainstNumPy, DropoutOfTheSameElementsEverywhere) {
  compare_with_numpy(4, [](Random& random, Oracle& oracle) {
    for (const DType dtype : floats) {
      for (const Layout layout : all_layouts) {
        const Shape shape = random.one_in(6) ? Shape{130, 700} : random.shape();
        const Input x = random_input(random, dtype, shape, layout, Values::moderate);
        const std::array chances{0.0, 0.1, 0.5, 0.9375, 1.0};
        const std::array written{"0", "0.1", "0.5", "0.9375", "1"};
        const auto chance = static_cast<std::size_t>(random.from(0, 4));
        const DropoutOptions options{
            .key = static_cast<std::uint64_t>(random.from(0, INT64_MAX)),
            .counter = random.one_in(2) ? 0xFFFFFFF0U : static_cast<std::uint64_t>(random.from(0, 1000))};
        oracle.add(random.seed(), "dropout",
                   R"("p":)" + std::string(written[chance]) + R"(,"key":)" + std::to_string(*options.key) + R"(,"counter":)" +
                       std::to_string(options.counter),
                   {&x}, dropout(x.tensor, chances[chance], options));
      }
    }
  });
}

TEST(NeuralAgainstNumPy, OneHotOfEveryDType) {
  compare_with_numpy(4, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const bool turned : {false, true}) {
        const std::int64_t depth = random.one_in(5) ? 1000 : random.from(1, 9);
        Input indices = indices_in(random, random.shape(0, 3), 0, depth);
        if (turned && indices.base.size() == 2) indices.transpose({1, 0});
        const bool chosen = random.one_in(2) && dtype != DType::boolean;
        const Tensor result = chosen ? one_hot(indices.tensor, depth, {.on = 7, .off = 3, .dtype = dtype})
                                     : one_hot(indices.tensor, depth, {.dtype = dtype});
        oracle.add(random.seed(), "one_hot",
                   R"("depth":)" + std::to_string(depth) + (chosen ? R"(,"on":7,"off":3)" : R"(,"on":1,"off":0)"), {&indices},
                   result);
      }
    }
  });
}

TEST(NeuralAgainstNumPy, EmbeddingTakesRows) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const Layout layout : all_layouts) {
        const std::int64_t rows = random.from(1, 50);
        const Input weight = random_input(random, dtype, {rows, random.from(1, 70)}, layout, Values::any);
        const Input indices = indices_in(random, random.shape(0, 3), -rows, rows);
        oracle.add(random.seed(), "embedding", "", {&weight, &indices}, embedding(weight.tensor, indices.tensor));
      }
    }
  });
}

}  // namespace
}  // namespace tutti::oracle
