// Products and decompositions over dtypes, layouts and batches, judged by NumPy in long double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "oracle/oracle.h"

namespace tutti::oracle {
namespace {

Layout any_layout(Random& random) { return all_layouts[static_cast<std::size_t>(random.from(0, all_layouts.size() - 1))]; }
DType any_dtype(Random& random) { return all_dtypes[static_cast<std::size_t>(random.from(0, all_dtypes.size() - 1))]; }
constexpr std::array wide_floats_list{DType::f32, DType::f64};

Values moderate_for(DType dtype) { return is_floating(dtype) ? Values::moderate : Values::any; }

// The values in row order, under a layout of the last axes.
Input laid_out(DType dtype, const Shape& shape, const std::vector<double>& values, Layout layout) {
  const auto rank = shape.size();
  const std::int64_t rows = shape[rank - 2];
  const std::int64_t columns = shape[rank - 1];
  Shape base = shape;
  std::vector<std::size_t> places(values.size());
  std::size_t count = values.size();
  for (std::size_t i = 0; i < values.size(); ++i) places[i] = i;
  if (layout == Layout::transposed) {
    std::swap(base[rank - 2], base[rank - 1]);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::int64_t within = at % (rows * columns);
      places[i] = static_cast<std::size_t>(at - within + within % columns * rows + within / columns);
    }
  } else if (layout == Layout::sliced) {
    base[rank - 1] = 2 * columns;
    count *= 2;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      places[i] = static_cast<std::size_t>(at / columns * 2 * columns + 2 * columns - 1 - 2 * (at % columns));
    }
  }
  std::vector<std::byte> bytes(count * size_of(dtype));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::f64) {
      std::memcpy(bytes.data() + places[i] * 8, &values[i], 8);
    } else {
      const auto value = static_cast<float>(values[i]);
      std::memcpy(bytes.data() + places[i] * 4, &value, 4);
    }
  }
  Input out = make_input(dtype, base, std::move(bytes));
  if (layout == Layout::transposed) {
    Dims axes;
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
    std::swap(axes[rank - 2], axes[rank - 1]);
    out.transpose(axes);
  } else if (layout == Layout::sliced) {
    out.slice(static_cast<std::int64_t>(rank) - 1, {-1, {}, -2});
  }
  return out;
}

Shape with_matrix(const Shape& batch, std::int64_t rows, std::int64_t columns) {
  Shape out = batch;
  out.push_back(rows);
  out.push_back(columns);
  return out;
}

enum class Kind { rows_in_any_order, symmetric, symmetric_below, symmetric_above };

// The diagonal dominates, so that the condition number is small. Of symmetric matrices the triangle that is not to be looked at
// may be NaN.
std::vector<double> dominated(Random& random, std::int64_t count, std::int64_t rows, std::int64_t columns, Kind kind) {
  std::vector<double> out(static_cast<std::size_t>(count * rows * columns));
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  for (std::int64_t at = 0; at < count; ++at) {
    double* one = out.data() + at * rows * columns;
    for (std::int64_t i = 0; i < rows; ++i) order[static_cast<std::size_t>(i)] = i;
    if (kind == Kind::rows_in_any_order && rows == columns) {
      for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[static_cast<std::size_t>(random.from(0, static_cast<std::int64_t>(i) - 1))]);
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      double* row = one + order[static_cast<std::size_t>(i)] * columns;
      for (std::int64_t k = 0; k < columns; ++k) {
        row[k] = random.real(-1, 1);
        if (kind != Kind::rows_in_any_order && k < i) row[k] = one[k * columns + i];
        if (i == k) {
          const double large = static_cast<double>(std::max(rows, columns)) + random.real(0, 1);
          row[k] = kind == Kind::rows_in_any_order && random.one_in(2) ? -large : large;
        }
      }
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t k = 0; k < columns; ++k) {
        if ((kind == Kind::symmetric_below && k > i) || (kind == Kind::symmetric_above && k < i))
          one[i * columns + k] = std::numeric_limits<double>::quiet_NaN();
      }
    }
  }
  return out;
}

Input random_matrices(Random& random, DType dtype, const Shape& batch, std::int64_t rows, std::int64_t columns, Kind kind) {
  const std::array layouts{Layout::dense, Layout::transposed, Layout::sliced};
  const bool is_expanded = !batch.empty() && random.one_in(4);
  const Shape own = is_expanded ? Shape{} : batch;
  Input out = laid_out(dtype, with_matrix(own, rows, columns), dominated(random, element_count(own).value(), rows, columns, kind),
                       layouts[static_cast<std::size_t>(random.from(0, 2))]);
  if (is_expanded) out.expand(with_matrix(batch, rows, columns));
  return out;
}

std::int64_t any_size(Random& random) {
  return random.one_in(12) ? 0 : random.one_in(4) ? random.from(10, 40) : random.from(1, 9);
}
Shape any_batch(Random& random) { return random.one_in(3) ? Shape{} : random.one_in(10) ? Shape{0} : Shape{random.from(1, 5)}; }

TEST(LinearAlgebraAgainstNumPy, Einsum) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    const std::array equations{"ij,jk->ik",
                               "ij,jk",
                               "bij,bjk->bik",
                               "ii",
                               "ii->i",
                               "ij->ji",
                               "ij->",
                               "i,i->",
                               "i,j->ij",
                               "ij,ij->ij",
                               "ij,j->i",
                               "bi,bj->bij",
                               "...ij,...jk->...ik",
                               "...i->...",
                               "i...,i->...",
                               "ij,jk,kl->il",
                               "ijk,ijl->kl",
                               "iij,jk->ik",
                               "abc,cd,de,ea->b",
                               "...,...->...",
                               "ab,cd->dacb",
                               "Aa,aB->BA",
                               "ijij->ji",
                               "a,a,a->a",
                               "...->..."};
    for (const DType dtype : all_dtypes) {
      for (const char* equation : equations) {
        std::array<std::int64_t, 128> sizes{};
        const Shape loose = random.shape(0, 2);
        std::vector<Input> inputs;
        const std::string text = std::string(equation).substr(0, std::string(equation).find("->"));
        for (std::size_t begin = 0; begin <= text.size();) {
          const std::size_t end = std::min(text.find(',', begin), text.size());
          Shape shape;
          for (std::size_t i = begin; i < end; ++i) {
            if (text[i] == '.') {
              for (const std::int64_t size : random.broadcast_partner(loose)) shape.push_back(size);
              i += 2;
              continue;
            }
            std::int64_t& size = sizes[static_cast<std::size_t>(text[i])];
            if (size == 0) size = random.from(1, random.one_in(6) ? 20 : 5);
            shape.push_back(size);
          }
          inputs.push_back(
              random_input(random, random.one_in(8) ? any_dtype(random) : dtype, shape, any_layout(random), moderate_for(dtype)));
          if (is_floating(inputs.back().dtype) && !is_floating(dtype)) {
            inputs.back() = random_input(random, dtype, shape, any_layout(random), Values::any);
          }
          begin = end + 1;
        }
        std::vector<Tensor> tensors;
        std::vector<const Input*> pointers;
        for (const Input& input : inputs) {
          tensors.push_back(input.tensor);
          pointers.push_back(&input);
        }
        oracle.add(random.seed(), "einsum", R"("equation":")" + std::string(equation) + '"', pointers, einsum(equation, tensors));
      }
    }
  });
}

TEST(LinearAlgebraAgainstNumPy, EinsumBroadcastsAxesOfSizeOne) {
  compare_with_numpy(4, [](Random& random, Oracle& oracle) {
    for (const DType dtype : {DType::f32, DType::i32, DType::f16}) {
      const std::int64_t n = random.from(2, 5);
      const Input a = random_input(random, dtype, {1, n}, any_layout(random), moderate_for(dtype));
      const Input b = random_input(random, dtype, {n, 1}, any_layout(random), moderate_for(dtype));
      for (const char* equation : {"ij,ij->ij", "ij,ij->", "ij,ij->i", "ij,kj->ik"})
        oracle.add(random.seed(), "einsum", R"("equation":")" + std::string(equation) + '"', {&a, &b},
                   einsum(equation, {a.tensor, b.tensor}));
    }
  });
}

TEST(LinearAlgebraAgainstNumPy, OuterTraceAndVectorProducts) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const Layout layout : all_layouts) {
        const Values values = moderate_for(dtype);
        const Input u = random_input(random, dtype, {random.from(0, 30)}, layout, Values::any);
        const Input v = random_input(random, dtype, {random.from(0, 30)}, any_layout(random), Values::any);
        oracle.add(random.seed(), "outer", "", {&u, &v}, outer(u.tensor, v.tensor));
        const Input x = random_input(random, dtype, random.shape(2, 4), layout, values);
        const std::int64_t offset = random.from(-3, 3);
        oracle.add(random.seed(), "trace", R"("offset":)" + std::to_string(offset), {&x}, trace(x.tensor, offset));
        const Shape shape = random.shape(1, 3);
        const auto rank = static_cast<std::int64_t>(shape.size());
        const std::int64_t axis = random.from(-rank, -1);
        Shape other = random.broadcast_partner(shape);
        if (static_cast<std::int64_t>(other.size()) < -axis) other = shape;
        other[other.size() - static_cast<std::size_t>(-axis)] = shape[shape.size() - static_cast<std::size_t>(-axis)];
        const Input a = random_input(random, dtype, shape, layout, values);
        const Input b = random_input(random, dtype, other, any_layout(random), values);
        oracle.add(random.seed(), "vecdot", R"("axis":)" + std::to_string(axis), {&a, &b}, vecdot(a.tensor, b.tensor, axis));
      }
    }
  });
}

TEST(LinearAlgebraAgainstNumPy, Tensordot) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const Layout layout : all_layouts) {
        const auto size = [&] { return random.one_in(15) ? 0 : random.from(1, 6); };
        const std::int64_t k = size();
        const std::int64_t l = size();
        const Input a = random_input(random, dtype, {size(), k, l}, layout, moderate_for(dtype));
        const Input b = random_input(random, dtype, {k, l, size()}, any_layout(random), moderate_for(dtype));
        const Input c = random_input(random, dtype, {l, size(), k}, any_layout(random), moderate_for(dtype));
        oracle.add(random.seed(), "tensordot", R"("axes":2)", {&a, &b}, tensordot(a.tensor, b.tensor));
        oracle.add(random.seed(), "tensordot", R"("axes":0)", {&a, &c}, tensordot(a.tensor, c.tensor, 0));
        oracle.add(random.seed(), "tensordot", R"("axes":[[1,-1],[2,0]])", {&a, &c},
                   tensordot(a.tensor, c.tensor, {1, -1}, {2, 0}));
        oracle.add(random.seed(), "tensordot", R"("axes":[[2],[0]])", {&a, &c}, tensordot(a.tensor, c.tensor, {2}, {0}));
      }
    }
  });
}

TEST(LinearAlgebraAgainstNumPy, Solve) {
  compare_with_numpy(12, [](Random& random, Oracle& oracle) {
    for (const DType dtype : wide_floats_list) {
      const Shape batch = any_batch(random);
      const std::int64_t n = any_size(random);
      const Input a = random_matrices(random, dtype, batch, n, n, Kind::rows_in_any_order);
      const Shape other = random.one_in(3) ? Shape{} : batch;
      const Input b = random_input(random, dtype, with_matrix(other, n, random.from(0, 5)), any_layout(random), Values::moderate);
      oracle.add(random.seed(), "solve", "", {&a, &b}, solve(a.tensor, b.tensor));
      const Input v = random_input(random, dtype, {n}, any_layout(random), Values::moderate);
      oracle.add(random.seed(), "solve", "", {&a, &v}, solve(a.tensor, v.tensor));
    }
  });
}

TEST(LinearAlgebraAgainstNumPy, InverseAndDeterminant) {
  compare_with_numpy(12, [](Random& random, Oracle& oracle) {
    for (const DType dtype : wide_floats_list) {
      const std::int64_t n = any_size(random);
      const Input x = random_matrices(random, dtype, any_batch(random), n, n, Kind::rows_in_any_order);
      oracle.add(random.seed(), "inv", "", {&x}, inv(x.tensor));
      const std::int64_t fewer = random.from(0, 12);  // the determinant grows as fast as the factorial
      const Input y = random_matrices(random, dtype, any_batch(random), fewer, fewer, Kind::rows_in_any_order);
      oracle.add(random.seed(), "det", "", {&y}, det(y.tensor));
      const SignAndLog logs = slogdet(x.tensor);
      oracle.add(random.seed(), "slogdet", "", {&x}, {logs.sign, logs.log_abs});
      const Input zero = laid_out(dtype, {3, 3}, {1, 2, 3, 2, 4, 6, 0, 1, 0}, Layout::dense);
      oracle.add(random.seed(), "det", "", {&zero}, det(zero.tensor));
      const SignAndLog none = slogdet(zero.tensor);
      oracle.add(random.seed(), "slogdet", "", {&zero}, {none.sign, none.log_abs});
    }
  });
}

TEST(LinearAlgebraAgainstNumPy, Cholesky) {
  compare_with_numpy(12, [](Random& random, Oracle& oracle) {
    for (const DType dtype : wide_floats_list) {
      for (const bool upper : {false, true}) {
        const std::int64_t n = any_size(random);
        const Kind kind = random.one_in(2) ? Kind::symmetric : upper ? Kind::symmetric_above : Kind::symmetric_below;
        const Input x = random_matrices(random, dtype, any_batch(random), n, n, kind);
        oracle.add(random.seed(), "cholesky", upper ? R"("upper":true)" : R"("upper":false)", {&x},
                   cholesky(x.tensor, {.upper = upper}));
        const CholeskyResult result = cholesky_ex(x.tensor, {.upper = upper});
        oracle.add(random.seed(), "cholesky_ex", upper ? R"("upper":true)" : R"("upper":false)", {&x},
                   {result.factor, result.info});
      }
    }
  });
}

TEST(LinearAlgebraAgainstNumPy, Qr) {
  compare_with_numpy(10, [](Random& random, Oracle& oracle) {
    for (const DType dtype : wide_floats_list) {
      for (const bool complete : {false, true}) {
        const std::int64_t rows = any_size(random);
        const std::int64_t columns = random.one_in(3) ? rows : any_size(random);
        const Input x = random_matrices(random, dtype, any_batch(random), rows, columns, Kind::rows_in_any_order);
        const QrFactors factors = qr(x.tensor, {.complete = complete});
        oracle.add(random.seed(), "qr", complete ? R"("complete":true)" : R"("complete":false)", {&x}, {factors.q, factors.r});
      }
    }
  });
}

TEST(LinearAlgebraAgainstNumPy, DecompositionsOfLargerMatrices) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    for (const DType dtype : wide_floats_list) {
      const Input x = random_matrices(random, dtype, {2}, 150, 150, Kind::rows_in_any_order);
      oracle.add(random.seed(), "inv", "", {&x}, inv(x.tensor));
      const Input b = random_input(random, dtype, {150, 40}, Layout::dense, Values::moderate);
      oracle.add(random.seed(), "solve", "", {&x, &b}, solve(x.tensor, b.tensor));
      const Input s = random_matrices(random, dtype, {3}, 130, 130, Kind::symmetric_below);
      oracle.add(random.seed(), "cholesky", R"("upper":false)", {&s}, cholesky(s.tensor));
      const Input tall = random_matrices(random, dtype, {2}, 170, 90, Kind::rows_in_any_order);
      const QrFactors factors = qr(tall.tensor);
      oracle.add(random.seed(), "qr", R"("complete":false)", {&tall}, {factors.q, factors.r});
      const Input many = random_matrices(random, dtype, {1000}, 4, 4, Kind::rows_in_any_order);
      oracle.add(random.seed(), "det", "", {&many}, det(many.tensor));
    }
  });
}

}  // namespace
}  // namespace tutti::oracle
