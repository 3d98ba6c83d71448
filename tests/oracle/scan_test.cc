// Running sums and products, over dtypes, layouts and axes, judged by NumPy.
#include <gtest/gtest.h>

#include "oracle/oracle.h"

namespace tutti::oracle {
namespace {

Layout any_layout(Random& random) { return all_layouts[static_cast<std::size_t>(random.from(0, all_layouts.size() - 1))]; }
Values values_for(DType dtype) { return is_floating(dtype) ? Values::moderate : Values::any; }
std::string axis_text(std::int64_t axis) { return R"("axis":)" + std::to_string(axis); }

std::int64_t any_axis(Random& random, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  return random.from(-rank, rank - 1);
}

TEST(ScansAgainstNumPy, CumsumAlongAnyAxis) {
  compare_with_numpy(5, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const Layout layout : all_layouts) {
        const Shape shape = random.shape(1, 4);
        const std::int64_t axis = any_axis(random, shape);
        const Input x = random_input(random, dtype, shape, layout, values_for(dtype));
        oracle.add(random.seed(), "cumsum", axis_text(axis), {&x}, cumsum(x.tensor, axis));
      }
    }
  });
}

TEST(ScansAgainstNumPy, CumulativeSumWithAStatedDTypeAndAnInitialZero) {
  compare_with_numpy(4, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const DType to : all_dtypes) {
        if (to == DType::boolean) continue;
        const Shape shape = random.shape(1, 3);
        const bool initial = random.one_in(2);
        const Input x = random_input(random, dtype, shape, any_layout(random),
                                     is_floating(to) || is_floating(dtype) ? Values::moderate : Values::any);
        const CumulativeSumOptions options{.dtype = to, .include_initial = initial};
        const bool is_one = shape.size() == 1;
        const std::int64_t axis = is_one ? 0 : any_axis(random, shape);
        oracle.add(random.seed(), "cumulative_sum", axis_text(axis) + R"(,"include_initial":)" + (initial ? "true" : "false"),
                   {&x}, is_one ? cumulative_sum(x.tensor, options) : cumulative_sum(x.tensor, axis, options));
      }
    }
  });
}

TEST(ScansAgainstNumPy, CumprodAlongAnyAxis) {
  compare_with_numpy(5, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const Layout layout : all_layouts) {
        Shape shape = random.shape(1, 4);
        for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = std::min<std::int64_t>(shape[i], 60);  // no product vanishes
        const std::int64_t axis = any_axis(random, shape);
        const Input x = random_input(random, dtype, shape, layout, values_for(dtype));
        oracle.add(random.seed(), "cumprod", axis_text(axis), {&x}, cumprod(x.tensor, axis));
      }
    }
  });
}

// Every way through the kernels: many short lines, lines of some thousands, few lines that are cut into segments.
TEST(ScansAgainstNumPy, LongLines) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    for (const DType dtype : {DType::boolean, DType::i32, DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64}) {
      for (const Shape& shape : {Shape{1500, 33}, Shape{17, random.from(4000, 6000)}, Shape{2, random.from(150'000, 200'000)}}) {
        const Input x = random_input(random, dtype, shape, Layout::dense, values_for(dtype));
        oracle.add(random.seed(), "cumsum", axis_text(1), {&x}, cumsum(x.tensor, 1));
        if (!is_floating(dtype)) oracle.add(random.seed(), "cumprod", axis_text(-1), {&x}, cumprod(x.tensor, -1));
      }
      const Input x = random_input(random, dtype, {150'001}, Layout::dense, values_for(dtype));
      oracle.add(random.seed(), "cumulative_sum", axis_text(0) + R"(,"include_initial":true)", {&x},
                 cumulative_sum(x.tensor, {.include_initial = true}));
    }
  });
}

}  // namespace
}  // namespace tutti::oracle
