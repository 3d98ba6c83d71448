// What linear algebra refuses at the call, and how matrices that cannot be taken apart spoil the result.
#include <gtest/gtest.h>

#include <thread>

#include "ops/refusals.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

TEST(LinearAlgebra, RefusesShapesAndDTypesThatDoNotFit) {
  const Tensor x = ones({4, 6});
  EXPECT_REFUSED_HERE(ShapeError, "must be square", inv(x));
  EXPECT_REFUSED_HERE(ShapeError, "must be square", det(x));
  EXPECT_REFUSED_HERE(ShapeError, "must be square", cholesky(x));
  EXPECT_REFUSED_HERE(ShapeError, "must be square", solve(x, ones({4})));
  EXPECT_REFUSED_HERE(ShapeError, "as many rows", solve(eye(4), ones({5})));
  EXPECT_REFUSED_HERE(ShapeError, "do not broadcast", solve(ones({2, 4, 4}), ones({3, 4, 1})));
  EXPECT_REFUSED_HERE(ShapeError, "two axes", qr(ones({4})));
  EXPECT_REFUSED_HERE(ShapeError, "two axes", slogdet(ones({})));
  EXPECT_REFUSED_HERE(DTypeError, "float32, float64", inv(eye(3, {.dtype = DType::i32})));
  EXPECT_REFUSED_HERE(DTypeError, "float32, float64", qr(cast(x, DType::f16)));
  EXPECT_REFUSED_HERE(ShapeError, "takes vectors", outer(x, ones({2})));
  EXPECT_REFUSED_HERE(ShapeError, "one size", vecdot(x, ones({5})));
  EXPECT_REFUSED_HERE(ShapeError, "count it from the end", vecdot(x, ones({6}), 0));
  EXPECT_REFUSED_HERE(ShapeError, "axis -2", vecdot(x, ones({6}), -2));
  EXPECT_REFUSED_HERE(ShapeError, "3 axes", tensordot(x, x, 3));
  EXPECT_REFUSED_HERE(ShapeError, "one size", tensordot(x, x, 1));
  EXPECT_REFUSED_HERE(InvalidArgument, "1 axes (0,) and 2 axes", tensordot(x, x, {0}, {0, 1}));
  EXPECT_REFUSED_HERE(ShapeError, "twice", tensordot(x, ones({4, 4}), {0, 0}, {0, 1}));
}

TEST(LinearAlgebra, RefusesEquationsThatSayNothing) {
  const Tensor x = ones({4, 6});
  EXPECT_REFUSED_HERE(InvalidArgument, "names 1 tensors, and there are 2", einsum("ij", {x, x}));
  EXPECT_REFUSED_HERE(InvalidArgument, "no tensors", einsum("", std::vector<Tensor>{}));
  EXPECT_REFUSED_HERE(ShapeError, "'ijk' does not name the axes", einsum("ijk", {x}));
  EXPECT_REFUSED_HERE(ShapeError, "'i' does not name the axes", einsum("i->i", {x}));
  EXPECT_REFUSED_HERE(ShapeError, "sizes 4 and 6 of one tensor", einsum("ii", {x}));
  EXPECT_REFUSED_HERE(ShapeError, "sizes 6 and 4", einsum("ij,jk", {x, x}));
  EXPECT_REFUSED_HERE(InvalidArgument, "no input has", einsum("ij->k", {x}));
  EXPECT_REFUSED_HERE(InvalidArgument, "twice", einsum("ij->ii", {x}));
  EXPECT_REFUSED_HERE(InvalidArgument, "'1' is not expected", einsum("i1", {x}));
  EXPECT_REFUSED_HERE(InvalidArgument, "'.' is not expected", einsum("i..", {x}));
  EXPECT_REFUSED_HERE(InvalidArgument, "not expected", einsum("......", {x}));
  EXPECT_REFUSED_HERE(InvalidArgument, "output leaves out", einsum("...j->j", {x}));
}

// The failure is where the value is read, and names the matrix and the line of the call.
void expect_spoiled(Tensor (*make)(), std::uint32_t line, const char* part) {
  if (list_physical_devices("GPU").empty()) simulate_gpus(1);
  for (const char* device : {"CPU:0", "GPU:0"}) {
    const DeviceScope on(device);
    const Tensor out = make();
    try {
      out.sync();
      ADD_FAILURE() << "no failure on " << device;
    } catch (const KernelFailed& e) {
      EXPECT_EQ(e.site().line(), line) << e.what();
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
    clear_errors();
  }
}

Tensor with_a_singular_one() { return stack({eye(3), ones({3, 3}), eye(3)}); }
Tensor with_an_indefinite_one() { return stack({eye(2), constant({{1.F, 2.F}, {2.F, 1.F}})}); }

TEST(LinearAlgebra, SolvingWithASingularMatrixSpoilsTheResult) {
  expect_spoiled([] { return solve(with_a_singular_one(), ones({3})); }, __LINE__, "matrix 1 of the batch is singular");
}

TEST(LinearAlgebra, InvertingASingularMatrixSpoilsTheResult) {
  expect_spoiled([] { return inv(with_a_singular_one()); }, __LINE__, "matrix 1 of the batch is singular");
}

TEST(LinearAlgebra, ACholeskyFactorOfAnIndefiniteMatrixSpoilsTheResult) {
  expect_spoiled([] { return cholesky(with_an_indefinite_one()); }, __LINE__, "matrix 1 of the batch is not positive definite");
}

// 2 x 2 go a way of their own on a GPU, and so do 200 x 200.
TEST(LinearAlgebra, ACholeskyFactorThatIsMissingIsToldInTheInfoAndFailsNothing) {
  if (list_physical_devices("GPU").empty()) simulate_gpus(1);
  for (const char* device : {"CPU:0", "GPU:0"}) {
    const DeviceScope on(device);
    for (const std::int64_t n : {2, 200}) {
      const Tensor good = eye(n) * 4.F;
      const Tensor at_the_end = good - 8.F * pad(eye(1), {{n - 1, 0}, {n - 1, 0}});
      const Tensor at_once = -good;
      for (const bool upper : {false, true}) {
        const auto [factor, info] = cholesky_ex(stack({good, at_the_end, good, at_once}), {.upper = upper});
        EXPECT_EQ(read<std::int32_t>(info), (std::vector<std::int32_t>{0, static_cast<std::int32_t>(n), 0, 1}));
        EXPECT_EQ(read<bool>(all(isnan(factor), {1, 2})), (std::vector<bool>{false, true, false, true}));
        EXPECT_EQ(read<float>(index(factor, {2})), read<float>(eye(n) * 2.F));
      }
    }
    EXPECT_EQ(read<std::int32_t>(cholesky_ex(zeros({3, 0, 0})).info), (std::vector<std::int32_t>{0, 0, 0}));
    EXPECT_EQ(cholesky_ex(zeros({0, 2, 2})).info.shape(), Shape({0}));
  }
}

TEST(LinearAlgebra, ThreadsDoNotDisturbEachOther) {
  constexpr int rounds = 40;
  const Tensor a = uniform({60, 60}, {.dtype = DType::f64}) + eye(60, {.dtype = DType::f64}) * 60.0;
  const std::vector<double> expected = read<double>(inv(a));
  const std::vector<double> expected_q = read<double>(qr(a).q);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < rounds; ++k) {
        EXPECT_EQ(read<double>(inv(a)), expected);
        EXPECT_EQ(read<double>(qr(a).q), expected_q);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tutti
