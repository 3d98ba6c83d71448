#include "tutti/ops/matmul.h"

#include <atomic>

#include "tutti/base/environment.h"
#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/attributes.h"
#include "tutti/exec/dispatch.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/views.h"

namespace tutti {

namespace {

// The front end has given both one dtype and to the same leading axes.
void infer_matmul(Inference& in) {
  in.expect_inputs(2);
  const Shape& a = in.shape(0);
  const Shape& b = in.shape(1);
  const std::size_t rank = a.size();
  if (in.dtype(0) != in.dtype(1)) in.reject_dtypes("both inputs must have one dtype");
  if (rank < 2 || b.size() != rank) in.reject_shapes("both inputs must be matrices with the same leading axes");
  if (a[rank - 1] != b[rank - 2])
    in.reject_shapes("the last axis of the first must be as long as the last but one of the second");
  Shape out = a;
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    if (a[i] != b[i]) in.reject_shapes("the leading axes must be equal");
  }
  out[rank - 1] = b[rank - 1];
  in.output(in.dtype(0), out);
}

const OpRow& matmul_row = register_op({.name = "MatMul", .function = "matmul", .infer = infer_matmul, .strided = true});

std::atomic<bool>& tf32_setting() noexcept {
  static std::atomic<bool> setting{environment_bool("TUTTI_ALLOW_TF32").value_or(false)};
  return setting;
}

Tensor product(const Tensor& a, const Tensor& b, Site site) {
  OpCall call(matmul_row, site);
  call.add(a);
  call.add(b);
  call.attributes = Attributes(MatMulAttributes{.tf32 = allows_tf32()});
  return dispatch_one(call);
}

Shape batch_of(const Shape& shape) { return Shape(shape.view().first(shape.size() - 2)); }

Tensor with_batch(const Tensor& x, const Shape& batch, Site site) {
  Shape shape = batch;
  shape.push_back(x.shape()[x.rank() - 2]);
  shape.push_back(x.shape()[x.rank() - 1]);
  return broadcast_to(x, shape, site);
}

}  // namespace

void set_allow_tf32(bool allow) noexcept { tf32_setting().store(allow, std::memory_order_relaxed); }
bool allows_tf32() noexcept { return tf32_setting().load(std::memory_order_relaxed); }

Tensor matmul(const Tensor& a, const Tensor& b, Site site) {
  if (a.dtype(site) != b.dtype(site)) {
    const DType both = promote(a.dtype(), b.dtype());
    return matmul(cast(a, both, site), cast(b, both, site), site);
  }
  if (a.rank() == 2 && b.rank() == 2) [[likely]]
    return product(a, b, site);
  if (a.rank() == 0 || b.rank() == 0) {
    throw ShapeError(text("matmul: both inputs need at least one axis; the shapes are ", to_string(a.shape()), " and ",
                          to_string(b.shape()), ". Use multiply for scalars"),
                     site);
  }
  if (a.rank() == 1 || b.rank() == 1) {
    const Tensor left = a.rank() == 1 ? reshape(a, {1, a.shape()[0]}, site) : a;
    const Tensor right = b.rank() == 1 ? reshape(b, {b.shape()[0], 1}, site) : b;
    const Tensor out = matmul(left, right, site);
    Shape shape;
    for (std::size_t i = 0; i < out.rank(); ++i) {
      const bool is_row = a.rank() == 1 && i + 2 == out.rank();
      const bool is_column = b.rank() == 1 && i + 1 == out.rank();
      if (!is_row && !is_column) shape.push_back(out.shape()[i]);
    }
    return reshape(out, shape, site);
  }
  const std::optional<Shape> batch = broadcast(batch_of(a.shape()), batch_of(b.shape()));
  if (!batch) {
    throw ShapeError(
        text("matmul: the leading axes of ", to_string(a.shape()), " and ", to_string(b.shape()), " do not broadcast"), site);
  }
  return product(with_batch(a, *batch, site), with_batch(b, *batch, site), site);
}

}  // namespace tutti
