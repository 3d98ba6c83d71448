#include "tutti/ops/gather.h"

#include <algorithm>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/attributes.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/indexing_attributes.h"
#include "tutti/ops/arrange.h"
#include "tutti/ops/index_plan.h"

namespace tutti {

namespace {

void check_index_dtypes(const Inference& in, std::size_t first) {
  for (std::size_t i = first; i < in.inputs(); ++i) {
    if (in.dtype(i) != DType::i32 && in.dtype(i) != DType::i64) in.reject_dtypes("the indices must be int32 or int64");
  }
}

// The axes first ... first + count - 1 of x replaced by those of the indices.
void output_nested(Inference& in, std::size_t first, std::size_t count) {
  const Shape& x = in.shape(0);
  const Shape& indices = in.shape(1);
  if (x.size() - count + indices.size() > most_axes) in.reject_shapes("the result would have more than 8 axes");
  Shape out(x.view().first(first));
  for (const std::int64_t size : indices) out.push_back(size);
  for (const std::int64_t size : x.view().subspan(first + count)) out.push_back(size);
  in.output(in.dtype(0), out);
}

void infer_take(Inference& in) {
  in.expect_inputs(2);
  check_index_dtypes(in, 1);
  output_nested(in, checked_axis(in.function(), in.attributes<TakeAttributes>().axis, in.shape(0).size(), in.site()), 1);
}

void infer_gather_nd(Inference& in) {
  const auto first = in.attributes<GatherAttributes>().first;
  if (in.inputs() < 2 || first < 0 || static_cast<std::size_t>(first) + in.inputs() - 1 > in.shape(0).size())
    in.reject_shapes("it takes a tensor and an index tensor for each of its indexed axes");
  check_index_dtypes(in, 1);
  for (std::size_t i = 2; i < in.inputs(); ++i) {
    if (!(in.shape(i) == in.shape(1))) in.reject_shapes("the index tensors must have one shape");
  }
  output_nested(in, static_cast<std::size_t>(first), in.inputs() - 1);
}

void infer_along(Inference& in) {
  in.expect_inputs(2);
  check_index_dtypes(in, 1);
  const Shape& x = in.shape(0);
  const Shape& indices = in.shape(1);
  const std::size_t axis = checked_axis(in.function(), in.attributes<AlongAttributes>().axis, x.size(), in.site());
  bool fits = x.size() == indices.size();
  for (std::size_t i = 0; fits && i < x.size(); ++i) fits = i == axis || x[i] == indices[i];
  if (!fits) in.reject_shapes("the indices must be as large as the tensor but along the axis");
  in.output(in.dtype(0), indices);
}

// Taking lines of a transposed tensor leaves it transposed.
Dims arrange_take(OpCall& call, const LogicalDevice&) {
  if (call.inputs()[1].tensor->shape().size() != 1) return {};
  const Dims order = detail::axes_by_stride(*call.inputs()[0].tensor);
  if (order.empty()) [[likely]]
    return {};
  const auto axis = static_cast<std::size_t>(call.attributes.as<TakeAttributes>().axis);
  call.attributes = Attributes(TakeAttributes{static_cast<std::int32_t>(detail::place_of(axis, order))});
  return order;
}

const OpRow& take_row =
    register_op({.name = "GatherV2", .function = "take", .infer = infer_take, .strided = true, .arrange = arrange_take});
const OpRow& gather_nd_row = register_op({.name = "GatherNd", .function = "index", .infer = infer_gather_nd, .strided = true});
const OpRow& along_row =
    register_op({.name = "TakeAlongAxis", .function = "take_along_axis", .infer = infer_along, .strided = true});

Tensor call_along(const char* function, const Tensor& x, const Tensor& indices, std::size_t axis, Site site) {
  OpCall call(along_row, site);
  call.called_as.function = function;
  call.add(x);
  call.add(indices);
  call.attributes = Attributes(AlongAttributes{static_cast<std::int8_t>(axis)});
  return dispatch_one(call);
}

[[noreturn]] void refuse_along(const char* function, const char* why, const Tensor& x, const Tensor& indices, Site site) {
  throw ShapeError(text(function, ": ", why, "; the tensor has the shape ", to_string(x.shape()), ", the indices ",
                        to_string(indices.shape())),
                   site);
}

}  // namespace

Tensor detail::take_as(const char* function, const Tensor& x, const Tensor& indices, std::int64_t axis, Site site) {
  const std::size_t along = checked_axis(function, axis, x.rank(site), site);
  const Tensor checked = as_indices(function, indices, site);
  OpCall call(take_row, site);
  call.called_as.function = function;
  call.add(x);
  call.add(checked);
  call.attributes = Attributes(TakeAttributes{static_cast<std::int32_t>(along)});
  return dispatch_one(call);
}

Tensor take(const Tensor& x, const Tensor& indices, std::int64_t axis, Site site) {
  return detail::take_as("take", x, indices, axis, site);
}

Tensor index_select(const Tensor& x, std::int64_t axis, const Tensor& indices, Site site) {
  if (indices.rank(site) != 1) {
    throw ShapeError(text("index_select takes indices with one axis; these have the shape ", to_string(indices.shape()),
                          ". Use take() for any shape"),
                     site);
  }
  return detail::take_as("index_select", x, indices, axis, site);
}

Tensor take_along_axis(const Tensor& x, const Tensor& indices, std::int64_t axis, Site site) {
  const std::size_t along = checked_axis("take_along_axis", axis, x.rank(site), site);
  const Tensor checked = detail::as_indices("take_along_axis", indices, site);
  if (x.rank() != indices.rank()) refuse_along("take_along_axis", "both need the same number of axes", x, indices, site);
  Shape from = x.shape();
  Shape to = indices.shape();
  from[along] = to[along] = 1;
  const std::optional<Shape> common = broadcast(from, to);
  if (!common) refuse_along("take_along_axis", "the axes beside the one taken along do not broadcast", x, indices, site);
  from = to = *common;
  from[along] = x.shape()[along];
  to[along] = indices.shape()[along];
  return call_along("take_along_axis", broadcast_to(x, from, site), broadcast_to(checked, to, site), along, site);
}

Tensor gather(const Tensor& x, std::int64_t axis, const Tensor& indices, Site site) {
  const std::size_t along = checked_axis("gather", axis, x.rank(site), site);
  const Tensor checked = detail::as_indices("gather", indices, site);
  if (x.rank() != indices.rank()) refuse_along("gather", "both need the same number of axes", x, indices, site);
  Tensor covered = x;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const std::int64_t size = indices.shape()[i];
    if (i == along || size == x.shape()[i]) continue;
    if (size > x.shape()[i]) refuse_along("gather", "the indices are larger than the tensor beside the axis", x, indices, site);
    covered = slice(covered, static_cast<std::int64_t>(i), {0, size}, site);
  }
  return call_along("gather", covered, checked, along, site);
}

Tensor detail::gather_nd(const char* function, const Tensor& x, std::size_t first, std::span<const Tensor> indices,
                         std::span<const std::int8_t> names, Site site) {
  OpCall call(gather_nd_row, site);
  call.called_as.function = function;
  call.add(x);
  for (const Tensor& each : indices) call.add(each);
  GatherAttributes attributes{static_cast<std::int8_t>(first), {}};
  std::copy(names.begin(), names.end(), attributes.names.begin());
  call.attributes = Attributes(attributes);
  return dispatch_one(call);
}

}  // namespace tutti
