#include "tutti/exec/inference.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/op_call.h"

namespace tutti {

void detail::raise_attribute_size(std::size_t given, std::size_t wanted) {
  throw InvalidArgument(text("attributes of ", wanted, " bytes are needed; the call gave ", given),
                        Site{});  // run_call knows the site
}

void detail::raise_operand_dtype(DType found, DType wanted) {
  throw DTypeError(text("an operand of ", to_string(found), " was read as ", to_string(wanted),
                        "; use the type of its dtype, or let the op's inference refuse other dtypes"),
                   Site{});
}

void detail::raise_no_operand(const char* kind, std::size_t asked, std::size_t count) {
  throw InvalidArgument(text("the kernel asked for ", kind, " #", asked, " of a call with ", count, " ", kind,
                             count == 1 ? "" : "s", "; they count from 0"),
                        Site{});
}

const Shape Inference::scalar_shape{};

Inference::Inference(const OpCall& call) noexcept : call_(call), inputs_(call.inputs()) {}

void Inference::raise_missing(std::size_t input) const {
  throw InvalidArgument(text(call_.function(), " was called with ", inputs(), " inputs; it also needs input #", input),
                        call_.site);
}

const Attributes& Inference::attributes_of(std::size_t size) const {
  if (call_.attributes.size() != size) [[unlikely]] {
    throw InvalidArgument(
        text(call_.function(), " needs attributes of ", size, " bytes; the call gave ", call_.attributes.size()), call_.site);
  }
  return call_.attributes;
}

Site Inference::site() const noexcept { return call_.site; }
const char* Inference::function() const noexcept { return call_.function(); }

const OutputSpec& Inference::wanted() const {
  if (call_.wanted == nullptr)
    throw InvalidArgument(text(call_.function(), ": the caller must state the output's dtype and shape"), call_.site);
  return *call_.wanted;
}

void Inference::output(DType dtype, const Shape& shape) {
  if (output_count_++ == 0) [[likely]] {
    first_output_ = {dtype, shape};
  } else {
    more_outputs_.push_back({dtype, shape});
  }
}

void Inference::scratch(std::int64_t bytes) {
  if (bytes < 0)
    throw InvalidArgument(text(call_.function(), ": its inference asked for ", bytes, " bytes of scratch memory"), call_.site);
  scratch_bytes_ = bytes;
}

std::size_t Inference::as_called(std::size_t i) const noexcept { return call_.called_as.is_reversed ? inputs() - 1 - i : i; }

void Inference::reject_shapes(std::string_view why) const {
  std::string found;
  for (std::size_t i = 0; i < inputs(); ++i) found += text(i == 0 ? "" : " and ", to_string(shape(as_called(i))));
  throw ShapeError(text(call_.function(), ": ", why, "; the shapes are ", found), call_.site);
}

void Inference::reject_dtypes(std::string_view why) const {
  std::string found;
  for (std::size_t i = 0; i < inputs(); ++i) found += text(i == 0 ? "" : " and ", to_string(dtype(as_called(i))));
  throw DTypeError(text(call_.function(), ": ", why, "; the dtypes are ", found, ". Convert with cast() first"), call_.site);
}

void Inference::expect_inputs(std::size_t count) const {
  if (inputs() != count) throw InvalidArgument(text(call_.function(), " takes ", count, " inputs, not ", inputs()), call_.site);
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
