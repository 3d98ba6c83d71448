// Tensors made by a rule, in every dtype, judged by NumPy.
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "oracle/oracle.h"

namespace tutti::oracle {
namespace {

std::string number(double x) {
  std::ostringstream out;
  out.precision(17);
  out << x;
  return out.str();
}

std::string named(DType dtype) { return R"(,"dtype":")" + std::string(to_string(dtype)) + '"'; }

TEST(CreationAgainstNumPy, RangesOfWholeNumbers) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      if (dtype == DType::boolean) continue;
      for (const std::int64_t most : {5, 60, 3000}) {
        const std::int64_t start = random.from(-most, most);
        const std::int64_t stop = random.from(-most, most);
        const std::int64_t step = random.from(1, 4) * (stop < start ? -1 : 1) * (random.one_in(10) ? -1 : 1);
        const std::string parameters = R"("start":)" + std::to_string(start) + R"(,"stop":)" + std::to_string(stop) +
                                       R"(,"step":)" + std::to_string(step) + named(dtype);
        oracle.add(random.seed(), "arange", parameters, {}, arange(start, stop, step, {.dtype = dtype}));
      }
    }
    oracle.add(random.seed(), "arange", R"("start":0,"stop":7,"step":1,"dtype":"int64")", {}, arange(7));
    oracle.add(random.seed(), "arange", R"("start":0,"stop":200000,"step":1,"dtype":"int32")", {},
               arange(200000, {.dtype = DType::i32}));
    oracle.add(random.seed(), "arange", R"("start":0,"stop":200000,"step":1,"dtype":"float32")", {},
               arange(200000, {.dtype = DType::f32}));
    const std::int64_t far = std::numeric_limits<std::int64_t>::max() - 10;
    oracle.add(random.seed(), "arange",
               R"("start":)" + std::to_string(far) + R"(,"stop":)" + std::to_string(far + 10) + R"(,"step":3,"dtype":"int64")",
               {}, arange(far, far + 10, 3));
  });
}

TEST(CreationAgainstNumPy, RangesOfReals) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      for (const double steps : {0.0, 1.0, 7.5, 900.25, 100000.5}) {
        const double start = random.real(-10, 10);
        const double step = random.real(0.001, 0.5) * (random.one_in(2) ? 1 : -1);
        const double stop = start + steps * step;
        const std::string parameters =
            R"("start":)" + number(start) + R"(,"stop":)" + number(stop) + R"(,"step":)" + number(step) + named(dtype);
        oracle.add(random.seed(), "arange", parameters, {}, arange(start, stop, step, {.dtype = dtype}));
      }
    }
    oracle.add(random.seed(), "arange", R"("start":0,"stop":2.5,"step":1,"dtype":"float32")", {}, arange(2.5));
    oracle.add(random.seed(), "arange", R"("start":0,"stop":3,"step":1,"dtype":"int32")", {}, arange(2.5, {.dtype = DType::i32}));
  });
}

TEST(CreationAgainstNumPy, Linspace) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      for (const std::int64_t count : {0, 1, 2, 3, 50, 1025, 150000}) {
        const double start = random.real(-100, 100);
        const double stop = random.one_in(8) ? start : random.real(-100, 100);
        const bool endpoint = random.one_in(2);
        const std::string parameters = R"("start":)" + number(start) + R"(,"stop":)" + number(stop) + R"(,"count":)" +
                                       std::to_string(count) + R"(,"endpoint":)" + (endpoint ? "true" : "false");
        oracle.add(random.seed(), "linspace", parameters, {},
                   linspace(start, stop, count, {.endpoint = endpoint, .dtype = dtype}));
      }
    }
  });
}

TEST(CreationAgainstNumPy, IdentityMatrices) {
  compare_with_numpy(2, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const std::int64_t most : {3, 40, 500}) {
        const std::int64_t rows = random.one_in(10) ? 0 : random.from(1, most);
        const std::int64_t columns = random.one_in(2) ? rows : random.from(0, most);
        const std::int64_t offset = random.one_in(2) ? 0 : random.from(-most, most);
        const std::string parameters = R"("rows":)" + std::to_string(rows) + R"(,"columns":)" + std::to_string(columns) +
                                       R"(,"offset":)" + std::to_string(offset);
        oracle.add(random.seed(), "eye", parameters, {}, eye(rows, columns, {.offset = offset, .dtype = dtype}));
      }
    }
    oracle.add(random.seed(), "eye", R"("rows":4,"columns":4,"offset":0)", {}, eye(4));
  });
}

TEST(CreationAgainstNumPy, Triangles) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const Layout layout : all_layouts) {
        Shape shape = random.shape(2, 4);
        if (random.one_in(8)) shape = {random.from(200, 400), random.from(300, 500)};
        const Input x = random_input(random, dtype, shape, layout, Values::any);
        const std::int64_t offset = random.one_in(3) ? 0 : random.from(-6, 6) * (random.one_in(6) ? 100 : 1);
        const std::string parameters = R"("offset":)" + std::to_string(offset);
        oracle.add(random.seed(), "tril", parameters, {&x}, tril(x.tensor, offset));
        oracle.add(random.seed(), "triu", parameters, {&x}, triu(x.tensor, offset));
      }
    }
    const Input x = random_input(random, DType::f32, {3, 4}, Layout::dense, Values::any);
    constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    oracle.add(random.seed(), "tril", R"("offset":1000)", {&x}, tril(x.tensor, most));
    oracle.add(random.seed(), "tril", R"("offset":-1000)", {&x}, tril(x.tensor, least));
    oracle.add(random.seed(), "triu", R"("offset":1000)", {&x}, triu(x.tensor, most));
    oracle.add(random.seed(), "triu", R"("offset":-1000)", {&x}, triu(x.tensor, least));
  });
}

TEST(CreationAgainstNumPy, Grids) {
  compare_with_numpy(2, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (std::int64_t count = 1; count <= 4; ++count) {
        std::vector<Input> inputs;
        for (std::int64_t i = 0; i < count; ++i) {
          const Shape shape = random.one_in(8) ? Shape{} : Shape{random.from(random.one_in(8) ? 0 : 1, 5)};
          const Layout layout = all_layouts[static_cast<std::size_t>(random.from(0, all_layouts.size() - 1))];
          inputs.push_back(random_input(random, dtype, shape, layout, Values::any));
        }
        std::vector<Tensor> vectors;
        std::vector<const Input*> given;
        for (const Input& input : inputs) {
          vectors.push_back(input.tensor);
          given.push_back(&input);
        }
        const bool is_xy = random.one_in(2);
        oracle.add(random.seed(), "meshgrid", is_xy ? R"("indexing":"xy")" : R"("indexing":"ij")", given,
                   meshgrid(vectors, {.indexing = is_xy ? Indexing::xy : Indexing::ij}));
      }
    }
  });
}

TEST(CreationAgainstNumPy, LikeAnother) {
  compare_with_numpy(2, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const Layout layout : all_layouts) {
        const Input x = random_input(random, dtype, random.shape(), layout, Values::any);
        const DType other = all_dtypes[static_cast<std::size_t>(random.from(0, all_dtypes.size() - 1))];
        oracle.add(random.seed(), "full_like", R"("value":1)", {&x}, ones_like(x.tensor));
        oracle.add(random.seed(), "full_like", R"("value":0)", {&x}, zeros_like(x.tensor, other));
        oracle.add(random.seed(), "full_like", R"("value":1)", {&x}, full_like(x.tensor, true, other));
        oracle.add(random.seed(), "empty_like", "", {&x}, empty_like(x.tensor, other));
      }
    }
  });
}

}  // namespace
}  // namespace tutti::oracle
