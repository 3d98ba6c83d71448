// Large tensors that repeat themselves along some of their axes, judged by NumPy: what is the same is worked out once.
#include <gtest/gtest.h>

#include "oracle/oracle.h"

namespace tutti::oracle {
namespace {

// Every choice of axes that repeat, in an order of their own in memory.
template <class Visit>
void for_each_repeat(Random& random, DType dtype, Values values, Visit&& visit) {
  for (unsigned repeated = 1; repeated < 8; ++repeated) {
    const Shape shape{random.from(60, 90), random.from(60, 90), random.from(80, 120)};
    Shape once = shape;
    for (std::size_t i = 0; i < 3; ++i) once[i] = (repeated >> i & 1U) != 0 ? 1 : shape[i];
    const Layout layout = random.one_in(2) ? Layout::transposed : Layout::sliced;
    Input x = random_input(random, dtype, once, layout, is_floating(dtype) ? values : Values::any);
    x.expand(shape);
    visit(x);
  }
}

struct Reduced {
  ReducedAxes axes;
  const char* json;
};
const std::array<Reduced, 6> all_reduced{Reduced{all_axes, "null"}, Reduced{{0}, "[0]"},      Reduced{{1}, "[1]"},
                                         Reduced{{2}, "[2]"},       Reduced{{0, 2}, "[0,2]"}, Reduced{{-1, 1}, "[-1,1]"}};

template <class Op>
void check(Random& random, Oracle& oracle, const char* name, DType dtype, Values values, Op op, const std::string& more = "") {
  for_each_repeat(random, dtype, values, [&](const Input& x) {
    const Reduced& reduced = all_reduced[static_cast<std::size_t>(random.from(0, 5))];
    const bool keep = random.one_in(2);
    const std::string parameters = R"("axes":)" + std::string(reduced.json) + R"(,"keepdims":)" + (keep ? "true" : "false");
    oracle.add(random.seed(), name, parameters + more, {&x}, op(x.tensor, reduced.axes, keep));
  });
}

#define TUTTI_REDUCTION(name) \
  [](const Tensor& x, const ReducedAxes& axes, bool keep) { return name(x, axes, {.keepdims = keep}); }

TEST(RepeatsAgainstNumPy, SumsAndCounts) {
  compare_with_numpy(2, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      check(random, oracle, "sum", dtype, Values::moderate, TUTTI_REDUCTION(sum));
      check(random, oracle, "count_nonzero", dtype, Values::small_range, TUTTI_REDUCTION(count_nonzero));
    }
  });
}

TEST(RepeatsAgainstNumPy, WhatDoesNotCountElements) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      check(random, oracle, "max", dtype, Values::any, TUTTI_REDUCTION(max));
      check(random, oracle, "min", dtype, Values::any, TUTTI_REDUCTION(min));
      check(random, oracle, "all", dtype, Values::any, TUTTI_REDUCTION(all));
      check(random, oracle, "any", dtype, Values::any, TUTTI_REDUCTION(any));
      if (is_floating(dtype)) check(random, oracle, "mean", dtype, Values::moderate, TUTTI_REDUCTION(mean));
    }
  });
}

TEST(RepeatsAgainstNumPy, VariancesWithAndWithoutACorrection) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    for (const DType dtype : {DType::bf16, DType::f32, DType::f64}) {
      check(random, oracle, "var", dtype, Values::moderate, TUTTI_REDUCTION(var), R"(,"correction":0)");
      const auto of_sample = [](const Tensor& x, const ReducedAxes& axes, bool keep) {
        return std(x, axes, {.correction = 1, .keepdims = keep});
      };
      check(random, oracle, "std", dtype, Values::moderate, of_sample, R"(,"correction":1)");
    }
  });
}

TEST(RepeatsAgainstNumPy, Norms) {
  compare_with_numpy(2, [](Random& random, Oracle& oracle) {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      const auto two = [](const Tensor& x, const ReducedAxes& axes, bool keep) {
        return vector_norm(x, axes, {.ord = 2, .keepdims = keep});
      };
      check(random, oracle, "vector_norm", dtype, Values::moderate, two, R"(,"ord":2)");
      const auto three = [](const Tensor& x, const ReducedAxes& axes, bool keep) {
        return vector_norm(x, axes, {.ord = 3, .keepdims = keep});
      };
      check(random, oracle, "vector_norm", dtype, Values::small_range, three, R"(,"ord":3)");
      const auto none = [](const Tensor& x, const ReducedAxes& axes, bool keep) {
        return vector_norm(x, axes, {.ord = 0, .keepdims = keep});
      };
      if (wide_floats.contains(dtype)) check(random, oracle, "vector_norm", dtype, Values::small_range, none, R"(,"ord":0)");
    }
  });
}

TEST(RepeatsAgainstNumPy, TheFirstOfSeveralEqualElementsIsFound) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for_each_repeat(random, dtype, Values::small_range, [&](const Input& x) {
        const std::int64_t axis = random.from(-3, 2);
        const std::string parameters = R"("axis":)" + std::to_string(axis);
        oracle.add(random.seed(), "argmax", parameters, {&x}, argmax(x.tensor, axis));
        oracle.add(random.seed(), "argmin", parameters, {&x}, argmin(x.tensor, axis));
      });
    }
  });
}

TEST(RepeatsAgainstNumPy, ElementByElement) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    for (const DType dtype : {DType::u8, DType::i64, DType::bf16, DType::f32}) {
      for_each_repeat(random, dtype, Values::moderate, [&](const Input& x) {
        oracle.add(random.seed(), "square", "", {&x}, square(x.tensor));
        const Input same = x;
        oracle.add(random.seed(), "multiply", "", {&x, &same}, multiply(x.tensor, same.tensor));
        // Of the other axes too, and a partner with axes of its own.
        const Shape& shape = x.tensor.shape();
        const Input line = random_input(random, dtype, {shape[1], 1}, Layout::dense, Values::moderate);
        oracle.add(random.seed(), "add", "", {&x, &line}, add(x.tensor, line.tensor));
      });
    }
  });
}

TEST(RepeatsAgainstNumPy, Take) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    for (const DType dtype : {DType::boolean, DType::bf16, DType::f32, DType::i64}) {
      for_each_repeat(random, dtype, Values::any, [&](const Input& x) {
        const std::int64_t axis = random.from(0, 2);
        const Shape places = random.one_in(2) ? Shape{} : Shape{random.from(0, 4), 3};
        std::vector<std::int64_t> indices(static_cast<std::size_t>(*element_count(places)));
        for (std::int64_t& each : indices) each = random.from(0, x.tensor.shape()[static_cast<std::size_t>(axis)] - 1);
        const auto bytes = std::as_bytes(std::span(indices));
        const Input at = make_input(DType::i64, places, {bytes.begin(), bytes.end()});
        oracle.add(random.seed(), "take", R"("axis":)" + std::to_string(axis), {&x, &at}, take(x.tensor, at.tensor, axis));
      });
    }
  });
}

}  // namespace
}  // namespace tutti::oracle
