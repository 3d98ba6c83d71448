// The functions of the C library, element by element, against the same in long double.
#include <functional>

#include "kernels/operands.h"
#include "kernels/random_checks.h"

namespace tutti::testing {

namespace {

using Exact = long double;
// Most functions of f32 are computed in f64 and rounded once, so that half an ulp is all they may be off.
constexpr double rounded_once = 0.501;
struct Function {
  const char* op;
  Exact (*exact)(Exact);
  double low;  // the range where most arguments lie
  double high;
  double f64_ulps;
  double f32_ulps = rounded_once;
};

const std::array unary{
    Function{"Expm1", [](Exact x) { return std::expm1(x); }, -40, 90, 2},
    Function{"Log", [](Exact x) { return std::log(x); }, 0, 4, 2, 1},
    Function{"Log1p", [](Exact x) { return std::log1p(x); }, -1, 3, 3, 2},
    Function{"Log2", [](Exact x) { return std::log2(x); }, 0, 4, 3, 2},
    Function{"Log10", [](Exact x) { return std::log10(x); }, 0, 4, 3, 2},
    Function{"Sin", [](Exact x) { return std::sin(x); }, -40, 40, 2, 2},
    Function{"Cos", [](Exact x) { return std::cos(x); }, -40, 40, 2, 2},
    Function{"Tan", [](Exact x) { return std::tan(x); }, -40, 40, 4},
    Function{"Asin", [](Exact x) { return std::asin(x); }, -1.01, 1.01, 3},
    Function{"Acos", [](Exact x) { return std::acos(x); }, -1.01, 1.01, 3},
    Function{"Atan", [](Exact x) { return std::atan(x); }, -5, 5, 3},
    Function{"Sinh", [](Exact x) { return std::sinh(x); }, -90, 90, 4},
    Function{"Cosh", [](Exact x) { return std::cosh(x); }, -90, 90, 3},
    Function{"Tanh", [](Exact x) { return std::tanh(x); }, -4, 4, 4},
    Function{"Asinh", [](Exact x) { return std::asinh(x); }, -5, 5, 4},
    Function{"Acosh", [](Exact x) { return std::acosh(x); }, 0.9, 5, 4},
    Function{"Atanh", [](Exact x) { return std::atanh(x); }, -1.01, 1.01, 4},
    Function{"Erf", [](Exact x) { return std::erf(x); }, -7, 7, 2, 2},
};

struct BinaryFunction {
  const char* op;
  Exact (*exact)(Exact, Exact);
  double f64_ulps;
};

const std::array binary{
    BinaryFunction{"Atan2", [](Exact a, Exact b) { return std::atan2(a, b); }, 4},
    BinaryFunction{"Hypot", [](Exact a, Exact b) { return std::hypot(a, b); }, 2},
    BinaryFunction{"Pow", [](Exact a, Exact b) { return std::pow(a, b); }, 2},
};

// Within the range, over all magnitudes, near whole numbers, and what is special.
template <class T>
T argument(Random& random, double low, double high) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  constexpr T tiny = std::numeric_limits<T>::denorm_min();
  constexpr T most = std::numeric_limits<T>::max();
  constexpr std::array special{T{0}, T{-0.0}, T{1}, T{-1}, inf, -inf, std::numeric_limits<T>::quiet_NaN(),
                               tiny, -tiny,   most, -most};
  const auto uniform = [&](double from, double to) { return std::uniform_real_distribution<double>(from, to)(random); };
  switch (pick(random, 0, 9)) {
    case 0: return special[static_cast<std::size_t>(pick(random, 0, special.size() - 1))];
    case 1:
    case 2: {
      const int range = sizeof(T) == 4 ? 148 : 1073;
      return static_cast<T>(std::ldexp(uniform(-1, 1), static_cast<int>(pick(random, -range, range - 49))));
    }
    case 3: return static_cast<T>(static_cast<double>(pick(random, -20, 20)) / 2 + std::ldexp(uniform(-1, 1), -30));
    default: return static_cast<T>(uniform(low, high));
  }
}

// The worst error and the arguments it is found at.
template <class T>
struct Worst {
  long double ulps = 0;
  T a{};
  T b{};
  T found{};
};

template <class T>
Worst<T> worst_of(const char* op, bool is_binary, double low, double high, const std::function<Exact(Exact, Exact)>& exact) {
  Random random(17);
  Serial serial;
  constexpr std::int64_t n = 40001;
  Array a(dtype_of<T>, {n}, Lie::dense, random);
  Array b(dtype_of<T>, {n}, Lie::dense, random);
  for (std::int64_t i = 0; i < n; ++i) {
    a.set<T>(i, argument<T>(random, low, high));
    b.set<T>(i, argument<T>(random, low, high));
  }
  const Array out(dtype_of<T>, {n}, Lie::dense, random);
  if (is_binary) {
    run_kernel(host_kernel(op), serial, {&a, &b}, out);
  } else {
    run_kernel(host_kernel(op), serial, {&a}, out);
  }
  Worst<T> worst;
  for (std::int64_t i = 0; i < n; ++i) {
    const T found = out.get<T>(i);
    const Exact wanted = exact(a.get<T>(i), b.get<T>(i));
    long double error = ulps(found, wanted);
    if (wanted == 0 && !std::isnan(wanted) && std::signbit(found) != std::signbit(wanted)) error = 1000;
    if (error > worst.ulps) worst = {error, a.get<T>(i), b.get<T>(i), found};
  }
  return worst;
}

template <class T>
void expect_within(double limit, const Worst<T>& worst) {
  EXPECT_LE(static_cast<double>(worst.ulps), limit) << "at " << worst.a << ", " << worst.b << ": " << worst.found;
}

}  // namespace

void check_function_accuracy() {
  for (const Function& function : unary) {
    SCOPED_TRACE(function.op);
    const auto exact = [&](Exact x, Exact) { return function.exact(x); };
    expect_within(function.f32_ulps, worst_of<float>(function.op, false, function.low, function.high, exact));
    expect_within(function.f64_ulps, worst_of<double>(function.op, false, function.low, function.high, exact));
  }
  for (const BinaryFunction& function : binary) {
    SCOPED_TRACE(function.op);
    expect_within(rounded_once, worst_of<float>(function.op, true, -10, 10, function.exact));
    expect_within(function.f64_ulps, worst_of<double>(function.op, true, -10, 10, function.exact));
  }
}

TEST(FunctionAccuracy, IsAsStatedOverAllMagnitudes) { check_function_accuracy(); }

TEST(FunctionAccuracy, WholeLogarithmsToTheBaseTwoAreExact) {
  Random random(1);
  Serial serial;
  Array x(DType::f64, {2098}, Lie::dense, random);
  for (std::int64_t i = 0; i < x.count(); ++i) x.set(i, std::ldexp(1.0, static_cast<int>(i) - 1074));
  const Array out(DType::f64, {2098}, Lie::dense, random);
  run_kernel(host_kernel("Log2"), serial, {&x}, out);
  for (std::int64_t i = 0; i < x.count(); ++i) ASSERT_EQ(out.get<double>(i), static_cast<double>(i - 1074));
}

}  // namespace tutti::testing
