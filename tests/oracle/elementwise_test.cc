// Every element-wise op, over the dtypes it takes and every layout, judged by NumPy.
#include <gtest/gtest.h>

#include <span>

#include "oracle/oracle.h"

namespace tutti::oracle {
namespace {

bool is_integer(DType dtype) { return kind_of(dtype) == DTypeKind::integer; }
bool is_number(DType dtype) { return dtype != DType::boolean; }
bool is_bool(DType dtype) { return dtype == DType::boolean; }
bool has_bits(DType dtype) { return !is_floating(dtype); }
bool is_any(DType) { return true; }

struct Unary {
  const char* name;
  Tensor (*call)(TensorArg x, Site site);
  bool (*takes)(DType) = is_floating;
};

struct Binary {
  const char* name;
  Tensor (*call)(TensorArg a, TensorArg b, Site site);
  bool (*takes)(DType) = is_floating;
};

Layout any_layout(Random& random) { return all_layouts[static_cast<std::size_t>(random.from(0, all_layouts.size() - 1))]; }
Values any_values(Random& random) {
  return random.one_in(2) ? Values::any : random.one_in(2) ? Values::moderate : Values::small_range;
}

template <class Visit>
void for_each_kind(bool (*takes)(DType), Visit&& visit) {
  for (const DType dtype : all_dtypes) {
    if (!takes(dtype)) continue;
    for (const Layout layout : all_layouts) visit(dtype, layout);
  }
}

void check(Random& random, Oracle& oracle, std::span<const Unary> functions) {
  for (const Unary& function : functions) {
    for_each_kind(function.takes, [&](DType dtype, Layout layout) {
      const Input x = random_input(random, dtype, random.shape(), layout, any_values(random));
      oracle.add(random.seed(), function.name, "", {&x}, function.call(x.tensor, {}));
    });
  }
}

// Dtypes meet others of the kinds the function takes.
void check(Random& random, Oracle& oracle, std::span<const Binary> functions) {
  for (const Binary& function : functions) {
    for_each_kind(function.takes, [&](DType dtype, Layout layout) {
      const Shape shape = random.shape();
      DType other = dtype;
      if (random.one_in(3)) other = all_dtypes[static_cast<std::size_t>(random.from(0, all_dtypes.size() - 1))];
      if (!function.takes(other)) other = dtype;
      const bool swaps = random.one_in(2);
      const Input x = random_input(random, dtype, shape, layout, any_values(random));
      const Input y = random_input(random, other, random.one_in(2) ? shape : random.broadcast_partner(shape), any_layout(random),
                                   any_values(random));
      const Input& a = swaps ? y : x;
      const Input& b = swaps ? x : y;
      oracle.add(random.seed(), function.name, "", {&a, &b}, function.call(a.tensor, b.tensor, {}));
    });
  }
}

TEST(AgainstNumPy, Arithmetic) {
  compare_with_numpy(4, [](Random& random, Oracle& oracle) {
    check(random, oracle,
          std::array{Binary{"subtract", subtract, is_number}, Binary{"multiply", multiply, is_any}, Binary{"divide", divide},
                     Binary{"maximum", maximum, is_number}, Binary{"minimum", minimum, is_number}, Binary{"copysign", copysign}});
  });
}

// No integer is divided by 0 or raised to a negative power here: the judge does the same.
bool are_integers(const TensorArg& a, const TensorArg& b) {
  return is_integer(a.tensor().dtype()) && is_integer(b.tensor().dtype());
}
Tensor divisor(const TensorArg& a, const TensorArg& b) {
  return are_integers(a, b) ? where(equal(b.tensor(), 0), 1, b.tensor()) : b.tensor();
}
Tensor safe_floor_divide(TensorArg a, TensorArg b, Site) { return floor_divide(a.tensor(), divisor(a, b)); }
Tensor safe_remainder(TensorArg a, TensorArg b, Site) { return remainder(a.tensor(), divisor(a, b)); }
Tensor safe_pow(TensorArg a, TensorArg b, Site) {
  return pow(a.tensor(), are_integers(a, b) ? bitwise_and(b.tensor(), 7) : b.tensor());
}

TEST(AgainstNumPy, DivisionsAndPowers) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    check(random, oracle,
          std::array{Binary{"floor_divide", safe_floor_divide, is_number}, Binary{"remainder", safe_remainder, is_number},
                     Binary{"pow", safe_pow, is_number}});
  });
}

TEST(AgainstNumPy, SignsAndRoundings) {
  compare_with_numpy(4, [](Random& random, Oracle& oracle) {
    check(random, oracle,
          std::array{Unary{"abs", abs, is_number}, Unary{"negative", negative, is_number}, Unary{"positive", positive, is_number},
                     Unary{"sign", sign, is_number}, Unary{"square", square, is_number}, Unary{"sqrt", sqrt},
                     Unary{"floor", floor, is_number}, Unary{"ceil", ceil, is_number}, Unary{"trunc", trunc, is_number},
                     Unary{"round", round, is_number}});
  });
}

TEST(AgainstNumPy, Clip) {
  compare_with_numpy(4, [](Random& random, Oracle& oracle) {
    for_each_kind(is_number, [&](DType dtype, Layout layout) {
      const Shape shape = random.shape();
      const Input x = random_input(random, dtype, shape, layout, any_values(random));
      const Input low = random_input(random, dtype, random.broadcast_partner(shape), any_layout(random), any_values(random));
      const Input high = random_input(random, dtype, random.broadcast_partner(shape), any_layout(random), any_values(random));
      const auto add = [&](bool has_low, bool has_high, const std::vector<const Input*>& inputs, const Tensor& result) {
        const auto word = [](bool is_there) { return is_there ? "true" : "false"; };
        oracle.add(random.seed(), "clip", std::string(R"("min":)") + word(has_low) + R"(,"max":)" + word(has_high), inputs,
                   result);
      };
      add(true, true, {&x, &low, &high}, clip(x.tensor, low.tensor, high.tensor));
      add(true, false, {&x, &low}, clip(x.tensor, low.tensor, {}));
      add(false, true, {&x, &high}, clip(x.tensor, {}, high.tensor));
      add(false, false, {&x}, clip(x.tensor, {}, {}));
    });
  });
}

TEST(AgainstNumPy, Comparisons) {
  compare_with_numpy(4, [](Random& random, Oracle& oracle) {
    check(random, oracle,
          std::array{Binary{"equal", equal, is_any}, Binary{"not_equal", not_equal, is_any}, Binary{"less", less, is_number},
                     Binary{"less_equal", less_equal, is_number}, Binary{"greater", greater, is_number},
                     Binary{"greater_equal", greater_equal, is_number}});
    check(random, oracle,
          std::array{Unary{"isnan", isnan, is_number}, Unary{"isinf", isinf, is_number}, Unary{"isfinite", isfinite, is_number},
                     Unary{"signbit", signbit}});
  });
}

TEST(AgainstNumPy, Closeness) {
  compare_with_numpy(4, [](Random& random, Oracle& oracle) {
    for_each_kind(is_any, [&](DType dtype, Layout layout) {
      const Shape shape = random.shape();
      const DType other = random.one_in(3) ? all_dtypes[static_cast<std::size_t>(random.from(0, all_dtypes.size() - 1))] : dtype;
      const Input x = random_input(random, dtype, shape, layout, any_values(random));
      const Input y = random_input(random, other, random.one_in(2) ? shape : random.broadcast_partner(shape), any_layout(random),
                                   any_values(random));
      const CloseOptions options{
          .rtol = random.one_in(2) ? 0.25 : 1e-5, .atol = random.one_in(2) ? 1.5 : 1e-8, .equal_nan = random.one_in(2)};
      const std::string parameters = std::string(R"("rtol":)") + (options.rtol == 0.25 ? "0.25" : "1e-5") + R"(,"atol":)" +
                                     (options.atol == 1.5 ? "1.5" : "1e-8") + R"(,"equal_nan":)" +
                                     (options.equal_nan ? "true" : "false");
      oracle.add(random.seed(), "isclose", parameters, {&x, &y}, isclose(x.tensor, y.tensor, options));
      oracle.add(random.seed(), "allclose", parameters, {&x, &y}, allclose(x.tensor, y.tensor, options));
      const Input same = x;
      oracle.add(random.seed(), "allclose", parameters, {&x, &same}, allclose(x.tensor, same.tensor, options));
    });
  });
}

TEST(AgainstNumPy, BitsAndTruthValues) {
  compare_with_numpy(4, [](Random& random, Oracle& oracle) {
    check(random, oracle,
          std::array{Binary{"logical_and", logical_and, is_bool}, Binary{"logical_or", logical_or, is_bool},
                     Binary{"logical_xor", logical_xor, is_bool}, Binary{"bitwise_and", bitwise_and, has_bits},
                     Binary{"bitwise_or", bitwise_or, has_bits}, Binary{"bitwise_xor", bitwise_xor, has_bits},
                     Binary{"bitwise_left_shift", bitwise_left_shift, is_integer},
                     Binary{"bitwise_right_shift", bitwise_right_shift, is_integer}});
    check(random, oracle,
          std::array{Unary{"logical_not", logical_not, is_bool}, Unary{"bitwise_invert", bitwise_invert, has_bits}});
  });
}

TEST(AgainstNumPy, ExponentialsAndLogarithms) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    check(random, oracle,
          std::array{Unary{"exp", exp}, Unary{"expm1", expm1}, Unary{"log", log}, Unary{"log1p", log1p}, Unary{"log2", log2},
                     Unary{"log10", log10}});
    check(random, oracle, std::array{Binary{"logaddexp", logaddexp}});
  });
}

TEST(AgainstNumPy, Angles) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    check(random, oracle,
          std::array{Unary{"sin", sin}, Unary{"cos", cos}, Unary{"tan", tan}, Unary{"asin", asin}, Unary{"acos", acos},
                     Unary{"atan", atan}});
    check(random, oracle, std::array{Binary{"atan2", atan2}, Binary{"hypot", hypot}});
  });
}

TEST(AgainstNumPy, HyperbolicFunctions) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    check(random, oracle,
          std::array{Unary{"sinh", sinh}, Unary{"cosh", cosh}, Unary{"tanh", tanh}, Unary{"asinh", asinh}, Unary{"acosh", acosh},
                     Unary{"atanh", atanh}});
  });
}

TEST(AgainstNumPy, Activations) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    check(random, oracle,
          std::array{Unary{"relu", relu, is_number}, Unary{"erf", erf}, Unary{"sigmoid", sigmoid}, Unary{"silu", silu},
                     Unary{"gelu", [](TensorArg x, Site site) { return gelu(std::move(x), {}, site); }},
                     Unary{"gelu_by_tanh",
                           [](TensorArg x, Site site) { return gelu(std::move(x), {.form = GeluForm::by_tanh}, site); }}});
  });
}

// A matrix, or several, whose columns lie side by side; at times the columns or the rows run backwards.
Input turned_input(Random& random, DType dtype, const Shape& shape) {
  const std::size_t last = shape.size() - 1;
  Shape base = shape;
  std::swap(base[last], base[last - 1]);
  Input x = random_input(random, dtype, base, Layout::dense, any_values(random));
  Dims axes;
  for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  std::swap(axes[last], axes[last - 1]);
  x.transpose(axes);
  for (const std::size_t axis : {last, last - 1}) {
    if (random.one_in(4)) x.slice(static_cast<std::int64_t>(axis), {.step = -1});
  }
  return x;
}

TEST(AgainstNumPy, OperandsThatLieAlongDifferentAxes) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      const auto side = [&] {
        const std::int64_t n = random.from(1, 200);
        return random.one_in(3) ? n : (n + 15) / 16 * 16;  // where rows are a multiple of 16 bytes
      };
      Shape shape{side(), side()};
      if (random.one_in(2)) shape = {random.from(1, 5), shape[0], shape[1]};
      const Input dense = random_input(random, dtype, shape, Layout::dense, any_values(random));
      const Input other = random_input(random, dtype, shape, any_layout(random), any_values(random));
      const Input turned = turned_input(random, dtype, shape);
      const Input condition = turned_input(random, DType::boolean, shape);
      const Input row = random_input(random, dtype, {shape[shape.size() - 1]}, Layout::dense, any_values(random));
      oracle.add(random.seed(), "same", "", {&turned}, contiguous(turned.tensor));
      oracle.add(random.seed(), "multiply", "", {&dense, &turned}, multiply(dense.tensor, turned.tensor));
      oracle.add(random.seed(), "equal", "", {&turned, &dense}, equal(turned.tensor, dense.tensor));
      oracle.add(random.seed(), "not_equal", "", {&turned, &row}, not_equal(turned.tensor, row.tensor));
      oracle.add(random.seed(), "where", "", {&condition, &turned, &dense}, where(condition.tensor, turned.tensor, dense.tensor));
      oracle.add(random.seed(), "where", "", {&condition, &dense, &other}, where(condition.tensor, dense.tensor, other.tensor));
    }
  });
}

TEST(AgainstNumPy, ElementWiseOpsOfManyElements) {
  compare_with_numpy(2, [](Random& random, Oracle& oracle) {
    const Shape shape{random.from(100, 300), random.from(700, 900)};
    const auto input = [&](DType dtype) { return random_input(random, dtype, shape, any_layout(random), any_values(random)); };
    for (const DType dtype : all_dtypes) {
      const Input a = input(dtype);
      const Input b = input(dtype);
      oracle.add(random.seed(), "equal", "", {&a, &b}, equal(a.tensor, b.tensor));
      if (!is_number(dtype)) continue;
      oracle.add(random.seed(), "less", "", {&a, &b}, a.tensor < b.tensor);
      oracle.add(random.seed(), "maximum", "", {&a, &b}, maximum(a.tensor, b.tensor));
      if (!is_floating(dtype)) continue;
      oracle.add(random.seed(), "log1p", "", {&a}, log1p(a.tensor));
      oracle.add(random.seed(), "tan", "", {&a}, tan(a.tensor));
      oracle.add(random.seed(), "floor_divide", "", {&a, &b}, floor_divide(a.tensor, b.tensor));
    }
  });
}

}  // namespace
}  // namespace tutti::oracle
