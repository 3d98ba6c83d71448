// The gradients of matrix products, decompositions and solutions.
#include <algorithm>

#include "tutti/base/error.h"
#include "tutti/exec/linear_algebra_attributes.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/gradient_rules.h"
#include "tutti/ops/linear_algebra.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/patterns.h"

namespace tutti {

namespace {

Tensor transposed(const Tensor& x, Site site) { return matrix_transpose(x, site); }

void matmul_rule(GradientCall& call) {
  const Tensor& g = call.gradient();
  if (call.wants(0)) call.give(0, matmul(g, transposed(call.input(1), call.site), call.site));
  if (call.wants(1)) call.give(1, matmul(transposed(call.input(0), call.site), g, call.site));
}

void solve_rule(GradientCall& call) {
  const Tensor of_right = solve(transposed(call.input(0), call.site), call.gradient(), call.site);
  if (call.wants(0)) call.give(0, negative(matmul(of_right, transposed(call.output(), call.site), call.site), call.site));
  if (call.wants(1)) call.give(1, of_right);
}

void inverse_rule(GradientCall& call) {
  const Tensor y = transposed(call.output(), call.site);
  call.give(0, negative(matmul(y, matmul(call.gradient(), y, call.site), call.site), call.site));
}

// A number for each matrix, with two axes of size 1.
Tensor per_matrix(const Tensor& x, Site site) { return expand_dims(x, {-1, -2}, site); }

// A singular matrix has none: the inverse fails, and says so.
void determinant_rule(GradientCall& call) {
  const Tensor scale = per_matrix(multiply(call.gradient(), call.output(), call.site), call.site);
  call.give(0, multiply(transposed(inv(call.input(0), call.site), call.site), scale, call.site));
}
void log_determinant_rule(GradientCall& call) {
  if (!call.gradient(1).is_defined()) return;  // the sign changes in steps
  call.give(0,
            multiply(transposed(inv(call.input(0), call.site), call.site), per_matrix(call.gradient(1), call.site), call.site));
}

// With L the lower factor: L^-T phi(L^T g) L^-1, made symmetric, where phi keeps the lower triangle and half of the diagonal.
void cholesky_rule(GradientCall& call) {
  if (!call.gradient().is_defined()) return;
  const Site site = call.site;
  const bool upper = call.as<CholeskyAttributes>().upper;
  const Tensor factor = upper ? transposed(call.output(), site) : call.output();
  const Tensor g = tril(upper ? transposed(call.gradient(), site) : call.gradient(), 0, site);
  const Tensor product = matmul(transposed(factor, site), g, site);
  const Tensor lower = multiply(add(tril(product, 0, site), tril(product, -1, site), site), 0.5, site);
  const Tensor left = solve(transposed(factor, site), lower, site);
  const Tensor both = transposed(solve(transposed(factor, site), transposed(left, site), site), site);
  call.give(0, multiply(add(both, transposed(both, site), site), 0.5, site));
}

// For at least as many rows as columns, without the complete form: (gQ + Q sym(R gR^T - gQ^T Q)) R^-T, where sym mirrors the
// lower triangle.
void qr_rule(GradientCall& call) {
  const Site site = call.site;
  const Tensor& q = call.output(0);
  const Tensor& r = call.output(1);
  const Shape& shape = call.shape(0);
  const std::int64_t height = shape[shape.size() - 2];
  const std::int64_t width = shape[shape.size() - 1];
  if (height < width || (call.as<QrAttributes>().is_complete && height != width)) {
    throw InvalidArgument(
        "the gradient of qr is known for matrices with at least as many rows as columns, not in its complete form", site);
  }
  const Tensor of_q = call.gradient(0).is_defined() ? call.gradient(0) : zeros_like(q, {}, site);
  const Tensor of_r = call.gradient(1).is_defined() ? call.gradient(1) : zeros_like(r, {}, site);
  const Tensor m = subtract(matmul(r, transposed(of_r, site), site), matmul(transposed(of_q, site), q, site), site);
  const Tensor mirrored = add(tril(m, 0, site), transposed(tril(m, -1, site), site), site);
  const Tensor left = add(of_q, matmul(q, mirrored, site), site);
  call.give(0, transposed(solve(r, transposed(left, site), site), site));
}

[[maybe_unused]] const bool linear_algebra_rules[] = {
    register_gradient("MatMul", {.apply = matmul_rule, .reads_inputs = reads::first | reads::second}),
    register_gradient("MatrixSolve", {.apply = solve_rule, .reads_inputs = reads::first, .reads_outputs = reads::first}),
    register_gradient("MatrixInverse", {.apply = inverse_rule, .reads_outputs = reads::first}),
    register_gradient("MatrixDeterminant",
                      {.apply = determinant_rule, .reads_inputs = reads::first, .reads_outputs = reads::first}),
    register_gradient("LogMatrixDeterminant", {.apply = log_determinant_rule, .reads_inputs = reads::first}),
    register_gradient("Cholesky", {.apply = cholesky_rule, .reads_outputs = reads::first}),
    register_gradient("Qr", {.apply = qr_rule, .reads_outputs = reads::first | reads::second}),
};

}  // namespace

}  // namespace tutti
