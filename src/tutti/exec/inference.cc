#include "tutti/exec/inference.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/op_call.h"

namespace tutti {

namespace {
const Shape scalar_shape{};
}

std::size_t Inference::inputs() const noexcept { return call_.inputs().size(); }

DType Inference::dtype(std::size_t input) const noexcept {
  const OpInput& in = call_.inputs()[input];
  return in.tensor != nullptr ? in.tensor->dtype() : in.dtype;
}

const Shape& Inference::shape(std::size_t input) const noexcept {
  const OpInput& in = call_.inputs()[input];
  return in.tensor != nullptr ? in.tensor->shape() : scalar_shape;
}

const Attributes& Inference::attributes_of() const noexcept { return call_.attributes; }

const OutputSpec& Inference::wanted() const {
  if (call_.wanted == nullptr) throw InvalidArgument(text(call_.op.name, ": the caller must state the output's dtype and shape"), call_.site);
  return *call_.wanted;
}

void Inference::output(DType dtype, const Shape& shape) {
  if (output_count_ == most_outputs) throw InvalidArgument(text(call_.op.name, ": an op has at most ", most_outputs, " outputs"), call_.site);
  outputs_[output_count_++] = {dtype, shape};
}

void Inference::reject_shapes(std::string_view why) const {
  std::string found;
  for (std::size_t i = 0; i < inputs(); ++i) found += text(i == 0 ? "" : " and ", to_string(shape(i)));
  throw ShapeError(text(call_.op.name, ": ", why, "; the shapes are ", found), call_.site);
}

void Inference::reject_dtypes(std::string_view why) const {
  std::string found;
  for (std::size_t i = 0; i < inputs(); ++i) found += text(i == 0 ? "" : " and ", to_string(dtype(i)));
  throw DTypeError(text(call_.op.name, ": ", why, "; the dtypes are ", found, ". Convert with cast() first"), call_.site);
}

void Inference::expect_inputs(std::size_t count) const {
  if (inputs() != count) throw InvalidArgument(text(call_.op.name, " takes ", count, " inputs, not ", inputs()), call_.site);
}

Shape broadcast_inputs(const Inference& in) {
  Shape common = in.shape(0);
  for (std::size_t i = 1; i < in.inputs(); ++i) {
    const Shape& next = in.shape(i);
    if (next == common) continue;
    const std::optional<Shape> both = broadcast(common, next);
    if (!both) in.reject_shapes("the shapes do not broadcast: sizes must be equal or 1, counted from the last axis");
    common = *both;
  }
  return common;
}

}  // namespace tutti
