#include <tutti/tensor/dtype_visit.h>
#include "kernels/operands.h"
#include "kernels/random_checks.h"

namespace tutti::testing {

namespace {

template <class T>
long double worst_error(const std::vector<T>& arguments, T& at) {
  Serial serial;
  Random random(1);
  const auto n = static_cast<std::int64_t>(arguments.size());
  const Array in(dtype_of<T>, {n}, Lie::dense, random);
  std::copy(arguments.begin(), arguments.end(), in.operand().as<T>());
  const Array out(dtype_of<T>, {n}, Lie::dense, random);
  run_kernel(host_kernel("Exp"), serial, {&in}, out);
  long double worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const T x = arguments[static_cast<std::size_t>(i)];
    const long double error = ulps(out.operand().as<T>()[i], std::exp(static_cast<long double>(x)));
    if (error > worst) {
      worst = error;
      at = x;
    }
  }
  return worst;
}

}  // namespace

void check_exp_sweep() {
  Random random(11);
  std::vector<float> floats;
  for (int i = 0; i < 200000; ++i) floats.push_back(-106.0F + 197.0F * static_cast<float>(i) / 200000);
  for (int i = -80; i < 80; ++i) floats.push_back(std::ldexp(1.37F, i % 40 - 30) * static_cast<float>(i < 0 ? -1 : 1));
  for (std::int64_t i = 0; i < 100000; ++i) floats.push_back(static_cast<float>(pick(random, -1040000, 890000)) * 1e-4F);
  float at = 0;
  EXPECT_LE(static_cast<double>(worst_error(floats, at)), 2.0) << "at " << at;
  std::vector<double> doubles;
  for (int i = 0; i < 200000; ++i) doubles.push_back(-748.0 + 1460.0 * i / 200000);
  for (std::int64_t i = 0; i < 100000; ++i) doubles.push_back(std::uniform_real_distribution<double>(-2, 2)(random));
  double where = 0;
  EXPECT_LE(static_cast<double>(worst_error(doubles, where)), 2.0) << "at " << where;
}

TEST(Exp, IsWithinTwoUlpOfTheTruthOverItsWholeRangeSubnormalsIncluded) { check_exp_sweep(); }

TEST(Exp, EndsInZeroInfinityAndNan) {
  Serial serial;
  Random random(1);
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const std::array<float, 10> arguments{inf, -inf, nan, 0, -0.0F, 1e30F, -1e30F, 88.72283F, 88.72284F, -103.0F};
  const std::array<float, 10> expected{inf, 0, nan, 1, 1, inf, 0, std::exp(88.72283F), inf, std::exp(-103.0F)};
  const Array in(DType::f32, {10}, Lie::dense, random);
  const Array out(DType::f32, {10}, Lie::dense, random);
  const Array in64(DType::f64, {10}, Lie::dense, random);
  const Array out64(DType::f64, {10}, Lie::dense, random);
  std::copy(arguments.begin(), arguments.end(), in.operand().as<float>());
  std::copy(arguments.begin(), arguments.end(), in64.operand().as<double>());
  run_kernel(host_kernel("Exp"), serial, {&in}, out);
  run_kernel(host_kernel("Exp"), serial, {&in64}, out64);
  for (std::int64_t i = 0; i < 10; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (std::isfinite(expected[at]) && expected[at] != 0) {
      const long double exact = std::exp(static_cast<long double>(arguments[at]));
      EXPECT_LE(static_cast<double>(ulps(out.get<float>(i), exact)), 2.0);
    } else {
      EXPECT_TRUE(same(out.get<float>(i), expected[at])) << "e^" << arguments[at] << " gave " << out.get<float>(i);
    }
    const double exact = std::exp(static_cast<double>(arguments[at]));
    EXPECT_TRUE(same(out64.get<double>(i), exact) || std::abs(out64.get<double>(i) - exact) <= exact * 4e-16) << arguments[at];
  }
}

TEST(Exp, HalfPrecisionIsTheRoundedFloatResult) {
  Serial serial;
  Random random(5);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    Array in(dtype, {33, 70}, Lie::scattered, random);
    in.fill(random, true);
    const Array out(dtype, {33, 70}, Lie::dense, random);
    run_kernel(host_kernel("Exp"), serial, {&in}, out);
    const float relative = dtype == DType::f16 ? 0x1p-11F : 0x1p-8F;  // half a unit in the last place
    visit_dtype(dtype, [&]<class T>(T) {
      if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
        for (std::int64_t i = 0; i < in.count(); ++i) {
          const double exact = std::exp(static_cast<double>(static_cast<float>(in.get<T>(i))));
          EXPECT_NEAR(printable(out.get<T>(i)), exact, exact * static_cast<double>(relative) * 1.001);
        }
      }
    });
  }
}

}  // namespace tutti::testing
