// Reductions over dtypes, axes and layouts, judged by NumPy.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include <tutti/tensor/dtype_visit.h>
#include "oracle/oracle.h"

namespace tutti::oracle {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool takes_any(DType /*dtype*/) { return true; }

template <class Visit>
void for_each_kind(bool (*takes)(DType), Visit&& visit) {
  for (const DType dtype : all_dtypes) {
    if (!takes(dtype)) continue;
    for (const Layout layout : all_layouts) visit(dtype, layout);
  }
}
Layout any_layout(Random& random) { return all_layouts[static_cast<std::size_t>(random.from(0, all_layouts.size() - 1))]; }

std::string parameters(const std::string& axes, bool keep) {
  return R"("axes":)" + axes + R"(,"keepdims":)" + (keep ? "true" : "false");
}
Dims random_axes(Random& random, const Shape& shape) {
  Dims axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (random.one_in(2))
      axes.push_back(static_cast<std::int64_t>(i) - (random.one_in(2) ? static_cast<std::int64_t>(shape.size()) : 0));
  }
  return axes;
}
// Where there must be something to choose from.
Shape without_zeros(Shape shape) {
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = std::max<std::int64_t>(shape[i], 1);
  return shape;
}

struct Kind {
  const char* name;
  bool (*takes)(DType) = takes_any;
  Values of_floats = Values::any;
  bool needs_elements = false;
};

// `op(x, axes, keepdims)`; `more`: further parameters for the judge.
template <class Op>
void check(Random& random, Oracle& oracle, const Kind& kind, Op op, const std::string& more = "") {
  for_each_kind(kind.takes, [&](DType dtype, Layout layout) {
    const Shape shape = kind.needs_elements ? without_zeros(random.shape(0, 5)) : random.shape(0, 5);
    const Input x = random_input(random, dtype, shape, layout, is_floating(dtype) ? kind.of_floats : Values::any);
    oracle.add(random.seed(), kind.name, parameters("null", false) + more, {&x}, op(x.tensor, all_axes, false));
    const Dims axes = random_axes(random, shape);
    const bool keep = random.one_in(2);
    oracle.add(random.seed(), kind.name, parameters(json(axes), keep) + more, {&x}, op(x.tensor, axes, keep));
  });
}

// Long, wide, narrow and tall: every way of cutting the work.
template <class Op>
void check_large(Random& random, Oracle& oracle, const Kind& kind, Op op, const std::string& more = "") {
  for (const DType dtype : all_dtypes) {
    if (!kind.takes(dtype)) continue;
    const auto run = [&](const Shape& shape, std::initializer_list<const char*> lists) {
      const Input x = random_input(random, dtype, shape, any_layout(random), is_floating(dtype) ? kind.of_floats : Values::any);
      for (const char* list : lists) {
        const bool keep = random.one_in(2);
        const std::string text = list;
        const ReducedAxes axes = text == "null" ? ReducedAxes(all_axes) : text == "[0]" ? ReducedAxes({0}) : ReducedAxes({-1});
        oracle.add(random.seed(), kind.name, parameters(text, keep) + more, {&x}, op(x.tensor, axes, keep));
      }
    };
    run({random.from(100, 400), random.from(500, 900)}, {"null", "[0]", "[1]"});
    run({random.from(3000, 9000), random.from(2, 19)}, {"[0]", "[1]"});
    run({random.from(2, 5), random.from(40000, 70000)}, {"[0]", "[1]"});
  }
}

#define TUTTI_REDUCTION(name) \
  [](const Tensor& x, const ReducedAxes& axes, bool keep) { return name(x, axes, {.keepdims = keep}); }

template <class Op>
void check_both(const Kind& kind, Op op, int seeds = 4) {
  static const Kind* the_kind;
  static Op the_op = op;
  the_kind = &kind;
  compare_with_numpy(seeds, [](Random& r, Oracle& o) {
    check(r, o, *the_kind, the_op);
    if (r.seed() <= 2) check_large(r, o, *the_kind, the_op);
  });
}

TEST(ReductionAgainstNumPy, Sum) { check_both({.name = "sum", .of_floats = Values::moderate}, TUTTI_REDUCTION(sum)); }

TEST(ReductionAgainstNumPy, SumAndProductAsAnotherDType) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for_each_kind(takes_any, [&](DType dtype, Layout layout) {
      for (const DType to : all_dtypes) {
        if (to == DType::boolean) continue;
        const Shape shape = random.shape(0, 3);
        const Input x = random_input(random, dtype, shape, layout, Values::moderate);
        const Dims axes = random_axes(random, shape);
        const std::string more = parameters(json(axes), false) + R"(,"dtype":")" + std::string(to_string(to)) + "\"";
        oracle.add(random.seed(), "sum", more, {&x}, sum(x.tensor, axes, {.dtype = to}));
        if (!is_floating(to)) oracle.add(random.seed(), "prod", more, {&x}, prod(x.tensor, axes, {.dtype = to}));
      }
    });
  });
}

TEST(ReductionAgainstNumPy, ProductOfIntegers) {
  check_both({.name = "prod", .takes = [](DType d) { return !is_floating(d); }}, TUTTI_REDUCTION(prod));
}

TEST(ReductionAgainstNumPy, ProductOfFloats) {
  compare_with_numpy(4, [](Random& random, Oracle& oracle) {
    check(random, oracle, {.name = "prod", .takes = is_floating, .of_floats = Values::moderate}, TUTTI_REDUCTION(prod));
    // Many factors near 1, whose products stay within range.
    for (const DType dtype : all_dtypes) {
      if (!is_floating(dtype)) continue;
      const Shape shape{random.from(300, 700), random.from(3, 300)};
      const auto count = static_cast<std::size_t>(shape[0] * shape[1]);
      std::vector<std::byte> bytes(count * size_of(dtype));
      for (std::size_t i = 0; i < count; ++i) {
        const double factor = std::exp2(random.real(-0.2, 0.2)) * (random.one_in(2) ? 1 : -1);
        visit_dtype(dtype, [&]<class T>(T) {
          if constexpr (std::is_same_v<T, double>) {
            std::memcpy(bytes.data() + i * sizeof(T), &factor, sizeof(T));
          } else if constexpr (!std::is_integral_v<T>) {
            const T value(static_cast<float>(factor));
            std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
          }
        });
      }
      Input x = make_input(dtype, shape, bytes);
      if (random.one_in(2)) x.transpose({1, 0});
      oracle.add(random.seed(), "prod", parameters("[0]", false), {&x}, prod(x.tensor, {0}));
      oracle.add(random.seed(), "prod", parameters("[1]", false), {&x}, prod(x.tensor, {1}));
    }
  });
}

TEST(ReductionAgainstNumPy, Max) { check_both({.name = "max", .needs_elements = true}, TUTTI_REDUCTION(max)); }
TEST(ReductionAgainstNumPy, Min) { check_both({.name = "min", .needs_elements = true}, TUTTI_REDUCTION(min)); }
TEST(ReductionAgainstNumPy, MaxAndMinWithoutNaN) {
  check_both({.name = "max", .of_floats = Values::small_range, .needs_elements = true}, TUTTI_REDUCTION(max), 2);
  check_both({.name = "min", .of_floats = Values::small_range, .needs_elements = true}, TUTTI_REDUCTION(min), 2);
}
TEST(ReductionAgainstNumPy, Mean) {
  check_both({.name = "mean", .takes = is_floating, .of_floats = Values::moderate}, TUTTI_REDUCTION(mean), 8);
}
TEST(ReductionAgainstNumPy, All) { check_both({.name = "all"}, TUTTI_REDUCTION(all)); }
TEST(ReductionAgainstNumPy, Any) { check_both({.name = "any"}, TUTTI_REDUCTION(any)); }
TEST(ReductionAgainstNumPy, CountNonzero) { check_both({.name = "count_nonzero"}, TUTTI_REDUCTION(count_nonzero)); }

// Elements that are nearly all zero or nearly all not: random ones leave all and any no choice.
TEST(ReductionAgainstNumPy, AllAndAnyOfNearlyEqualElements) {
  compare_with_numpy(4, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const bool is_one : {false, true}) {
        const Shape shape{random.from(20, 300), random.from(20, 300)};
        const auto count = shape[0] * shape[1];
        const std::size_t size = size_of(dtype);
        std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size, static_cast<std::byte>(is_one ? 1 : 0));
        const std::int64_t odd_ones = random.from(1, shape[0] + shape[1]);
        for (std::int64_t i = 0; i < odd_ones; ++i) {
          const auto at = static_cast<std::size_t>(random.from(0, count - 1)) * size;
          std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), size, std::byte{0});
          const bool is_negative_zero = is_one && is_floating(dtype) && random.one_in(2);
          if (is_negative_zero) bytes[at + size - 1] = std::byte{0x80};
          if (!is_one)
            bytes[at + static_cast<std::size_t>(
                           dtype == DType::boolean ? 0 : random.from(0, static_cast<std::int64_t>(size) - 1))] = std::byte{1};
        }
        Input x = make_input(dtype, shape, bytes);
        if (random.one_in(2)) x.transpose({1, 0});
        if (random.one_in(2)) x.slice(0, {.step = -1});
        for (const char* axes : {"null", "[0]", "[1]"}) {
          const std::string text = axes;
          const ReducedAxes over = text == "null" ? ReducedAxes(all_axes) : text == "[0]" ? ReducedAxes({0}) : ReducedAxes({1});
          oracle.add(random.seed(), "all", parameters(text, false), {&x}, all(x.tensor, over));
          oracle.add(random.seed(), "any", parameters(text, false), {&x}, any(x.tensor, over));
          oracle.add(random.seed(), "count_nonzero", parameters(text, false), {&x}, count_nonzero(x.tensor, over));
        }
      }
    }
  });
}

TEST(ReductionAgainstNumPy, VarianceAndStandardDeviation) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    static double correction;
    correction = random.one_in(2) ? 0 : random.one_in(2) ? 1 : 0.5;
    const std::string more = R"(,"correction":)" + std::to_string(correction);
    const Kind of_var{.name = "var", .takes = is_floating, .of_floats = Values::moderate};
    const Kind of_std{.name = "std", .takes = is_floating, .of_floats = Values::moderate};
    const auto by_var = [](const Tensor& x, const ReducedAxes& axes, bool keep) {
      return var(x, axes, {.correction = correction, .keepdims = keep});
    };
    const auto by_std = [](const Tensor& x, const ReducedAxes& axes, bool keep) {
      return std(x, axes, {.correction = correction, .keepdims = keep});
    };
    check(random, oracle, of_var, by_var, more);
    check(random, oracle, of_std, by_std, more);
    if (random.seed() > 2) return;
    check_large(random, oracle, of_var, by_var, more);
    check_large(random, oracle, of_std, by_std, more);
  });
}

TEST(ReductionAgainstNumPy, LogSumExp) {
  check_both({.name = "logsumexp", .takes = is_floating, .of_floats = Values::small_range}, TUTTI_REDUCTION(logsumexp));
}
TEST(ReductionAgainstNumPy, LogSumExpOfAnything) {
  check_both({.name = "logsumexp", .takes = is_floating, .of_floats = Values::any}, TUTTI_REDUCTION(logsumexp));
}

TEST(ReductionAgainstNumPy, VectorNormOfEveryOrder) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    static double order;
    for (const double each : {2.0, 1.0, 0.0, infinity, -infinity, 3.0, 0.5, -1.0}) {
      order = each;
      const std::string number = std::isinf(each) ? (each > 0 ? "\"inf\"" : "\"-inf\"") : std::to_string(each);
      const Kind kind{.name = "vector_norm", .takes = is_floating, .of_floats = Values::moderate, .needs_elements = true};
      const auto op = [](const Tensor& x, const ReducedAxes& axes, bool keep) {
        return vector_norm(x, axes, {.ord = order, .keepdims = keep});
      };
      check(random, oracle, kind, op, R"(,"ord":)" + number);
      if (random.seed() == 1) check_large(random, oracle, kind, op, R"(,"ord":)" + number);
    }
  });
}

TEST(ReductionAgainstNumPy, PlacesOfLargestAndSmallest) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    const auto add = [&](const Input& x, std::int64_t axis) {
      const bool keep = random.one_in(2);
      const std::string more = R"("axis":)" + std::to_string(axis) + R"(,"keepdims":)" + (keep ? "true" : "false");
      oracle.add(random.seed(), "argmax", more, {&x}, argmax(x.tensor, axis, {.keepdims = keep}));
      oracle.add(random.seed(), "argmin", more, {&x}, argmin(x.tensor, axis, {.keepdims = keep}));
    };
    for_each_kind(takes_any, [&](DType dtype, Layout layout) {
      // Small ranges of integers, so that the first of several equal ones must be found.
      const Values values = random.one_in(3) ? Values::any : Values::small_range;
      const Shape shape = without_zeros(random.shape(1, 4));
      const Input x = random_input(random, dtype, shape, layout, values);
      const auto rank = static_cast<std::int64_t>(shape.size());
      add(x, random.from(-rank, rank - 1));
      oracle.add(random.seed(), "argmax", R"("axis":null)", {&x}, argmax(x.tensor));
      oracle.add(random.seed(), "argmin", R"("axis":null)", {&x}, argmin(x.tensor));
    });
    if (random.seed() > 2) return;
    for (const DType dtype : all_dtypes) {
      for (const Shape& shape : {Shape{random.from(100, 400), random.from(500, 900)}, Shape{random.from(3000, 9000), 7},
                                 Shape{3, random.from(40000, 70000)}}) {
        const Input x = random_input(random, dtype, shape, any_layout(random), Values::small_range);
        add(x, 0);
        add(x, 1);
        oracle.add(random.seed(), "argmax", R"("axis":null)", {&x}, argmax(x.tensor));
      }
    }
  });
}

}  // namespace
}  // namespace tutti::oracle
