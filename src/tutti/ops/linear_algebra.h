// Linear algebra over the last two axes; any axes in front are a batch. Products beyond matmul, and decompositions.
#pragma once

#include <cstdint>

#include "tutti/ops/einsum.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/matmul.h"

namespace tutti {

// The sum along a diagonal of the last two axes; integers are summed as int64.
Tensor trace(const Tensor& x, std::int64_t offset = 0, Site site = {});
// Every element of one vector with every element of the other. Dtypes promote.
Tensor outer(const Tensor& a, const Tensor& b, Site site = {});
// The sum of products along an axis of both; the others broadcast. Dtypes promote.
Tensor vecdot(const Tensor& a, const Tensor& b, std::int64_t axis = -1, Site site = {});
// The sum of products over the last `axes` axes of a and the first of b.
Tensor tensordot(const Tensor& a, const Tensor& b, std::int64_t axes = 2, Site site = {});
// Over these axes of a and those of b, pair by pair.
Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& a_axes, const Dims& b_axes, Site site = {});

// What follows takes f32 and f64. A matrix that cannot be taken apart spoils the result: reading it throws.

struct CholeskyOptions {
  bool upper = false;  // x = u^T u instead of l l^T; the other triangle of x is not looked at
};
// The triangular l of x = l l^T, where x is symmetric and positive definite.
Tensor cholesky(const Tensor& x, const CholeskyOptions& options = {}, Site site = {});

struct CholeskyResult {
  Tensor factor;  // NaN where there is none
  Tensor info;    // int32, one for each matrix: 0, or the order of the first leading minor that is not positive
};
// Fails for no matrix: the device can decide by the info what to do about one that is not positive definite.
CholeskyResult cholesky_ex(const Tensor& x, const CholeskyOptions& options = {}, Site site = {});

// X of a X = b, where b is a batch of matrices, or one vector.
Tensor solve(const Tensor& a, const Tensor& b, Site site = {});
// The inverse.
Tensor inv(const Tensor& x, Site site = {});
// The determinant: 0 for a singular matrix.
Tensor det(const Tensor& x, Site site = {});

struct SignAndLog {
  Tensor sign;
  Tensor log_abs;  // -inf for a singular matrix, whose sign is 0
};
// The determinant where it may be too large or too small for its dtype.
SignAndLog slogdet(const Tensor& x, Site site = {});

struct QrOptions {
  bool complete = false;  // q square and r of the shape of x, instead of as small as will do
};
struct QrFactors {
  Tensor q;  // its columns are orthonormal
  Tensor r;  // upper triangular
};
// x = q r.
QrFactors qr(const Tensor& x, const QrOptions& options = {}, Site site = {});

}  // namespace tutti
