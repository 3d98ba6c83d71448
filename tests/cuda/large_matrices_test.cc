// Decompositions of matrices that many blocks work on: what they solve is put back into the question.
#include <cmath>

#include "cuda/against_cpu.h"

namespace tutti::testing_cuda {

namespace {

using LargeMatrices = OnGpu;

// Around the sizes at which panels need several blocks or get narrower, because those hold no more rows, and blocks of panels
// wider.
const std::int64_t sizes[] = {105, 127, 128, 129, 1024, 1025, 1100, 2048, 2049, 2303, 2305, 4200, 8192, 8300};

// Rows have to be exchanged in almost every step.
Tensor any_matrix(std::int64_t n, DType dtype) { return uniform({n, n}, {.key = 0, .dtype = dtype}) - 0.5; }

// The largest sum of a row's absolute elements.
double norm(const Tensor& x) { return read<double>(max(sum(abs(cast(x, DType::f64)), {-1})))[0]; }

// a x against b, as far as the roundings of elimination can take it.
void expect_solved(const Tensor& a, const Tensor& x, const Tensor& b) {
  const auto n = static_cast<double>(a.shape()[0]);
  const Tensor rest = matmul(cast(a, DType::f64), cast(x, DType::f64)) - cast(b, DType::f64);
  EXPECT_LE(norm(rest), n * own_rounding(a.dtype()) * norm(a) * norm(x))
      << "size " << n << ", elements of " << size_of(a.dtype()) << " bytes";
}

}  // namespace

TEST_F(LargeMatrices, AreSolvedAndInverted) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t n : sizes) {
      const Tensor a = any_matrix(n, dtype);
      for (const std::int64_t columns : {1, 33}) {
        const Tensor b = uniform({n, columns}, {.key = 0, .dtype = dtype});
        expect_solved(a, solve(a, b), b);
      }
      if (n <= 2100) expect_solved(a, inv(a), eye(n, {.dtype = dtype}));
    }
  }
}

TEST_F(LargeMatrices, AreAPermutationsInverse) {
  constexpr std::int64_t n = 300;
  const Tensor a = take(eye(n), argsort(uniform({n}, {.key = 0})));
  EXPECT_EQ(read<float>(inv(a)), read<float>(matrix_transpose(a)));
  EXPECT_EQ(std::abs(read<float>(det(a))[0]), 1.F);
}

TEST_F(LargeMatrices, HaveTheDeterminantTheCpuFinds) {
  for (const std::int64_t n : {105, 160, 1025, 2100, 2305}) {
    const Tensor a = any_matrix(n, DType::f64);
    const SignAndLog found = slogdet(a);
    const SignAndLog expected = slogdet(copy_to(a, "CPU:0"));
    EXPECT_EQ(read<double>(found.sign), read<double>(expected.sign)) << n;
    EXPECT_NEAR(read<double>(found.log_abs)[0], read<double>(expected.log_abs)[0], 1e-6) << n;
  }
}

TEST_F(LargeMatrices, OfABatchAreSolvedEachForItself) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t n : {300, 2100}) {
      const Tensor a = uniform({3, n, n}, {.key = 0, .dtype = dtype}) - 0.5;
      const Tensor b = uniform({3, n, 40}, {.key = 0, .dtype = dtype});
      const Tensor x = solve(a, b);
      const auto of = [](const Tensor& all, std::int64_t i) {
        return reshape(slice(all, 0, {i, i + 1}), {all.shape()[1], all.shape()[2]});
      };
      for (std::int64_t i = 0; i < 3; ++i) expect_solved(of(a, i), of(x, i), of(b, i));
    }
  }
}

TEST_F(LargeMatrices, HaveNoDeterminantWithoutFullRank) {
  for (const std::int64_t n : {200, 1500, 2100}) {
    EXPECT_EQ(read<float>(det(ones({n, n})))[0], 0.F) << n;
    EXPECT_EQ(read<float>(slogdet(zeros({n, n})).sign)[0], 0.F) << n;
    EXPECT_TRUE(std::isnan(read<double>(slogdet(full({n, n}, std::nan(""), DType::f64)).log_abs)[0])) << n;
  }
}

TEST_F(LargeMatrices, GiveTheSameBitsOnEveryRun) {
  const Tensor a = any_matrix(2500, DType::f32);
  const std::vector<float> first = read<float>(inv(a));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(read<float>(inv(a)), first);
}

TEST_F(LargeMatrices, HaveCholeskyFactors) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t n : sizes) {
      const Tensor half = any_matrix(n, dtype);
      const Tensor a = half + matrix_transpose(half) + eye(n, {.dtype = dtype}) * static_cast<double>(n);
      for (const bool upper : {false, true}) {
        const Tensor factor = cholesky(a, {.upper = upper});
        const Tensor other = matrix_transpose(factor);
        expect_solved(upper ? other : factor, upper ? factor : other, a);
      }
    }
  }
}

TEST_F(LargeMatrices, ThatCannotBeTakenAreNamed) {
  const auto message_of = [](const std::function<Tensor()>& function) {
    std::string out;
    try {
      function().sync();
    } catch (const KernelFailed& e) {
      out = e.what();
    }
    clear_errors();
    return out;
  };
  const Tensor singular = stack({eye(200), ones({200, 200})});
  EXPECT_NE(message_of([&] { return inv(singular); }).find("matrix 1 of the batch is singular"), std::string::npos);
  Tensor indefinite = eye(200);
  indefinite = indefinite - 2.0 * pad(eye(1), {{150, 49}, {150, 49}});
  EXPECT_NE(message_of([&] { return cholesky(indefinite); }).find("151"), std::string::npos);
}

}  // namespace tutti::testing_cuda
