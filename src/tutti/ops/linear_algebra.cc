#include "tutti/ops/linear_algebra.h"

#include <algorithm>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/linear_algebra_attributes.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/reduction.h"
#include "tutti/ops/scalar_call.h"

namespace tutti {

namespace {

void expect_matrices(const Inference& in) {
  if (in.shape(0).size() < 2) in.reject_shapes("a matrix has two axes");
}

void expect_square(const Inference& in) {
  expect_matrices(in);
  const Shape& shape = in.shape(0);
  if (shape[shape.size() - 1] != shape[shape.size() - 2]) in.reject_shapes("the matrices must be square");
}

Shape without_last(const Shape& shape, std::size_t axes) { return Shape(shape.view().first(shape.size() - axes)); }

void infer_square(Inference& in) {
  in.expect_inputs(1);
  expect_square(in);
  in.output(in.dtype(0), in.shape(0));
}

void infer_cholesky(Inference& in) {
  infer_square(in);
  if (in.attributes<CholeskyAttributes>().wants_info) in.output(DType::i32, without_last(in.shape(0), 2));
}

void infer_determinant(Inference& in) {
  in.expect_inputs(1);
  expect_square(in);
  in.output(in.dtype(0), without_last(in.shape(0), 2));
}

void infer_log_determinant(Inference& in) {
  infer_determinant(in);
  in.output(in.dtype(0), without_last(in.shape(0), 2));
}

// The front end has given both one dtype and the same leading axes.
void infer_solve(Inference& in) {
  in.expect_inputs(2);
  expect_square(in);
  const Shape& a = in.shape(0);
  const Shape& b = in.shape(1);
  if (in.dtype(1) != in.dtype(0)) in.reject_dtypes("both inputs must have one dtype");
  bool fits = b.size() == a.size();
  for (std::size_t i = 0; fits && i + 1 < a.size(); ++i) fits = a[i] == b[i];
  if (!fits) in.reject_shapes("the second must have as many rows as the first, and the same leading axes");
  in.output(in.dtype(0), b);
}

void infer_qr(Inference& in) {
  in.expect_inputs(1);
  expect_matrices(in);
  const Shape& x = in.shape(0);
  const std::int64_t rows = x[x.size() - 2];
  const std::int64_t columns = x[x.size() - 1];
  const std::int64_t inner = in.attributes<QrAttributes>().is_complete ? rows : std::min(rows, columns);
  Shape q = without_last(x, 2);
  Shape r = q;
  q.push_back(rows);
  q.push_back(inner);
  r.push_back(inner);
  r.push_back(columns);
  in.output(in.dtype(0), q);
  in.output(in.dtype(0), r);
}

OpDefinition decomposition(const char* name, const char* function, Infer infer) {
  return {.name = name, .function = function, .infer = infer, .takes = wide_floats};
}

const OpRow& cholesky_row = register_op(decomposition("Cholesky", "cholesky", infer_cholesky));
const OpRow& solve_row = register_op(decomposition("MatrixSolve", "solve", infer_solve));
const OpRow& inverse_row = register_op(decomposition("MatrixInverse", "inv", infer_square));
const OpRow& determinant_row = register_op(decomposition("MatrixDeterminant", "det", infer_determinant));
const OpRow& log_determinant_row = register_op(decomposition("LogMatrixDeterminant", "slogdet", infer_log_determinant));
const OpRow& qr_row = register_op(decomposition("Qr", "qr", infer_qr));

Tensor run(const OpRow& row, const Tensor& x, Site site) {
  OpCall call(row, site);
  call.add(x);
  return dispatch_one(call);
}

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t out = 1;
  for (const std::int64_t size : sizes) out *= size;
  return out;
}

void expect_vector(const Tensor& x, Site site) {
  if (x.rank(site) != 1) throw ShapeError(text("outer takes vectors; one has the shape ", to_string(x.shape())), site);
}

Tensor with_leading(const Tensor& x, const Shape& lead, Site site) {
  Shape shape = lead;
  shape.push_back(x.shape()[x.rank() - 2], site);
  shape.push_back(x.shape()[x.rank() - 1], site);
  return broadcast_to(x, shape, site);
}

}  // namespace

Tensor trace(const Tensor& x, std::int64_t offset, Site site) {
  if (x.rank(site) < 2) throw ShapeError(text("trace needs two axes; the shape is ", to_string(x.shape())), site);
  return sum(diagonal(x, {.offset = offset}, site), {-1}, {}, site);
}

Tensor outer(const Tensor& a, const Tensor& b, Site site) {
  expect_vector(a, site);
  expect_vector(b, site);
  const Tensor rows = expand_dims(a, 1, site);
  TensorArg left(rows, site);
  TensorArg right(b, site);
  return detail::binary<scalar::Multiply>(left, right, site, {"outer"});
}

Tensor vecdot(const Tensor& a, const Tensor& b, std::int64_t axis, Site site) {
  // Both are aligned at their ends, so an axis is counted from there.
  const std::size_t rank = std::min(a.rank(site), b.rank(site));
  if (axis >= 0 && a.rank() == b.rank())
    axis = static_cast<std::int64_t>(checked_axis("vecdot", axis, rank, site)) - static_cast<std::int64_t>(rank);
  if (axis >= 0) {
    throw ShapeError(text("vecdot: axis ", axis, " of ", to_string(a.shape()), " and ", to_string(b.shape()),
                          " is not the same; count it from the end, as a negative number"),
                     site);
  }
  (void)checked_axis("vecdot", axis, rank, site);
  const Tensor left = moveaxis(a, axis, -1, site);
  const Tensor right = moveaxis(b, axis, -1, site);
  if (left.shape()[left.rank() - 1] != right.shape()[right.rank() - 1]) {
    throw ShapeError(
        text("vecdot: axis ", axis, " of ", to_string(a.shape()), " and ", to_string(b.shape()), " must be of one size"), site);
  }
  if (!broadcast(left.shape(), right.shape())) {
    throw ShapeError(text("vecdot: the other axes of ", to_string(a.shape()), " and ", to_string(b.shape()), " do not broadcast"),
                     site);
  }
  if (std::max(a.rank(), b.rank()) == most_axes)
    throw ShapeError("vecdot: tensors of 8 axes leave no room for the axes of a product", site);
  const Tensor out = matmul(expand_dims(left, -2, site), expand_dims(right, -1, site), site);
  return squeeze(out, {-2, -1}, site);
}

Tensor tensordot(const Tensor& a, const Tensor& b, std::int64_t axes, Site site) {
  const auto fewest = static_cast<std::int64_t>(std::min(a.rank(site), b.rank(site)));
  if (axes < 0 || axes > fewest)
    throw ShapeError(text("tensordot: ", axes, " axes of ", to_string(a.shape()), " and ", to_string(b.shape()), " do not exist"),
                     site);
  Dims last;
  Dims first;
  for (std::int64_t i = 0; i < axes; ++i) {
    last.push_back(i - axes);
    first.push_back(i);
  }
  return tensordot(a, b, last, first, site);
}

Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& a_axes, const Dims& b_axes, Site site) {
  if (a_axes.size() != b_axes.size()) {
    throw InvalidArgument(
        text("tensordot got ", a_axes.size(), " axes ", to_string(a_axes), " and ", b_axes.size(), " axes ", to_string(b_axes)),
        site);
  }
  Dims to_end;
  Dims to_front;
  for (std::size_t i = 0; i < a_axes.size(); ++i) {
    const std::int64_t left = a.shape(site)[checked_axis("tensordot", a_axes[i], a.rank(), site)];
    const std::int64_t right = b.shape(site)[checked_axis("tensordot", b_axes[i], b.rank(), site)];
    if (left != right) {
      throw ShapeError(text("tensordot: axis ", a_axes[i], " of ", to_string(a.shape()), " and axis ", b_axes[i], " of ",
                            to_string(b.shape()), " must be of one size"),
                       site);
    }
    to_end.push_back(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(a_axes.size()));
    to_front.push_back(static_cast<std::int64_t>(i));
  }
  const Tensor left = moveaxis(a, a_axes, to_end, site);
  const Tensor right = moveaxis(b, b_axes, to_front, site);
  const auto kept = left.shape().view().first(left.rank() - a_axes.size());
  const auto summed = right.shape().view().first(b_axes.size());
  const auto right_kept = right.shape().view().subspan(b_axes.size());
  if (kept.size() + right_kept.size() > most_axes) throw ShapeError("tensordot: the result would have more than 8 axes", site);
  Shape shape;
  for (const std::int64_t size : kept) shape.push_back(size);
  for (const std::int64_t size : right_kept) shape.push_back(size);
  const Tensor flat = matmul(reshape(left, {product(kept), product(summed)}, site),
                             reshape(right, {product(summed), product(right_kept)}, site), site);
  return reshape(flat, shape, site);
}

Tensor cholesky(const Tensor& x, const CholeskyOptions& options, Site site) {
  OpCall call(cholesky_row, site);
  call.add(x);
  call.attributes = Attributes(CholeskyAttributes{.upper = options.upper});
  return dispatch_one(call);
}

CholeskyResult cholesky_ex(const Tensor& x, const CholeskyOptions& options, Site site) {
  OpCall call(cholesky_row, site);
  call.called_as.function = "cholesky_ex";
  call.add(x);
  call.attributes = Attributes(CholeskyAttributes{.upper = options.upper, .wants_info = true});
  dispatch(call);
  return {call.outputs.take(0), call.outputs.take(1)};
}

Tensor solve(const Tensor& a, const Tensor& b, Site site) {
  if (a.dtype(site) != b.dtype(site)) {
    const DType both = promote(a.dtype(), b.dtype());
    return solve(cast(a, both, site), cast(b, both, site), site);
  }
  if (b.rank() == 1) return squeeze(solve(a, expand_dims(b, 1, site), site), {-1}, site);
  if (a.rank() < 2 || b.rank() < 2) {
    throw ShapeError(text("solve takes matrices and a vector or matrices; the shapes are ", to_string(a.shape()), " and ",
                          to_string(b.shape())),
                     site);
  }
  const std::optional<Shape> lead = broadcast(without_last(a.shape(), 2), without_last(b.shape(), 2));
  if (!lead)
    throw ShapeError(
        text("solve: the leading axes of ", to_string(a.shape()), " and ", to_string(b.shape()), " do not broadcast"), site);
  const Tensor left = with_leading(a, *lead, site);
  const Tensor right = with_leading(b, *lead, site);
  OpCall call(solve_row, site);
  call.add(left);
  call.add(right);
  return dispatch_one(call);
}

Tensor inv(const Tensor& x, Site site) { return run(inverse_row, x, site); }
Tensor det(const Tensor& x, Site site) { return run(determinant_row, x, site); }

SignAndLog slogdet(const Tensor& x, Site site) {
  OpCall call(log_determinant_row, site);
  call.add(x);
  dispatch(call);
  return {call.outputs.take(0), call.outputs.take(1)};
}

QrFactors qr(const Tensor& x, const QrOptions& options, Site site) {
  OpCall call(qr_row, site);
  call.add(x);
  call.attributes = Attributes(QrAttributes{options.complete});
  dispatch(call);
  return {call.outputs.take(0), call.outputs.take(1)};
}

}  // namespace tutti
