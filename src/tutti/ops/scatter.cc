#include "tutti/ops/scatter.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/index_plan.h"

namespace tutti {

namespace {

// Every element of the region is one of the output's.
bool lies_inside(const ScatterAttributes& region, std::int64_t count) {
  const std::span axes(region.axes.data(), static_cast<std::size_t>(region.rank));
  if (std::any_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.size == 0; })) return true;
  std::int64_t lowest = region.offset;
  std::int64_t highest = region.offset;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;  // its stride says nothing
    if (axis.size < 0 || axis.size > count || std::abs(axis.stride) > count) return false;
    (axis.stride < 0 ? lowest : highest) += (axis.size - 1) * axis.stride;
  }
  return lowest >= 0 && highest < count;
}

Shape shape_of_values(const Inference& in, const ScatterAttributes& region) {
  const std::size_t first = static_cast<std::uint8_t>(region.first);
  const std::size_t indexed = in.inputs() - 2;
  Shape shape;
  if (region.is_along) return in.shape(2);
  for (std::size_t i = 0; i < first; ++i) shape.push_back(region.axes[i].size);
  if (indexed > 0) {
    for (const std::int64_t size : in.shape(2)) shape.push_back(size);
  }
  for (std::size_t i = first + indexed; i < static_cast<std::size_t>(region.rank); ++i) shape.push_back(region.axes[i].size);
  return shape;
}

void infer_scatter(Inference& in) {
  const auto region = in.attributes<ScatterAttributes>();
  const bool has_axes = in.inputs() >= 2 && region.rank >= 0 && region.rank <= static_cast<int>(most_axes) && region.first >= 0 &&
                        static_cast<std::size_t>(region.first) + in.inputs() - 2 <= static_cast<std::size_t>(region.rank);
  if (!has_axes) in.reject_shapes("it takes a tensor, values and an index tensor for each indexed axis");
  if (in.dtype(1) != in.dtype(0)) in.reject_dtypes("the values must have the dtype of the tensor");
  for (std::size_t i = 2; i < in.inputs(); ++i) {
    if (in.dtype(i) != DType::i32 && in.dtype(i) != DType::i64) in.reject_dtypes("the indices must be int32 or int64");
    if (!(in.shape(i) == in.shape(2))) in.reject_shapes("the index tensors must have one shape");
  }
  if (region.is_along) {
    bool fits = in.inputs() == 3 && in.shape(2).size() == static_cast<std::size_t>(region.rank);
    for (std::size_t i = 0; fits && i < in.shape(2).size(); ++i)
      fits = i == static_cast<std::size_t>(region.first) || in.shape(2)[i] <= region.axes[i].size;
    if (!fits) in.reject_shapes("the indices must not be larger than the tensor beside the axis");
  }
  if (!lies_inside(region, element_count(in.shape(0)).value_or(0))) in.reject_shapes("the region is not inside the tensor");
  if (!in.shape(1).empty() && !(in.shape(1) == shape_of_values(in, region)))
    in.reject_shapes("the values must be one, or as many as there are places");
  in.output(in.dtype(0), in.shape(0));
}

const OpRow& scatter_row(const char* name) {
  return register_op(
      {.name = name, .function = "scatter", .infer = infer_scatter, .access = {Access::consume, Access::read}, .strided = true});
}

// In the order of ScatterMode.
const std::array<const OpRow*, 5> rows{&scatter_row("TensorScatterUpdate"), &scatter_row("TensorScatterAdd"),
                                       &scatter_row("TensorScatterMul"), &scatter_row("TensorScatterMin"),
                                       &scatter_row("TensorScatterMax")};

}  // namespace

Tensor detail::values_for(const char* function, const Tensor& given, DType dtype, const Shape& places, Site site) {
  if (promote(given.dtype(site), dtype) != dtype) {
    throw DTypeError(text(function, ": values of dtype ", to_string(given.dtype()), " were given to a tensor of dtype ",
                          to_string(dtype), ", which does not hold them. Convert with cast() first"),
                     site);
  }
  const std::optional<Shape> common = broadcast(given.shape(), places);
  if (!common || !(*common == places)) {
    throw ShapeError(text(function, ": values of shape ", to_string(given.shape()), " do not broadcast to ", to_string(places),
                          ", the shape of the places they are for"),
                     site);
  }
  const Tensor converted = cast(given, dtype, site);
  return given.shape() == places || given.rank() == 0 ? converted : broadcast_to(converted, places, site);
}

Tensor detail::scatter_values(const char* function, const TensorArg& x, const ScatterAttributes& attributes,
                              std::span<const Tensor> indices, const Shape& places, const TensorArg& values, Site site) {
  const DType dtype = x.tensor().dtype(site);
  Tensor held;
  OpCall call(*rows[static_cast<std::size_t>(attributes.mode)], site);
  call.called_as.function = function;
  call.add({.tensor = &x.tensor().impl(), .is_given_away = x.is_given_away()});
  if (values.is_number()) {
    call.add(scalar_input(values.number(), dtype, site));
  } else {
    held = values_for(function, values.tensor(), dtype, places, site);
    call.add(held);
  }
  for (const Tensor& each : indices) call.add(each);
  call.attributes = Attributes(attributes);
  dispatch(call);
  x.let_go();
  return std::move(call.outputs[0]);
}

Tensor scatter(TensorArg x, std::int64_t axis, const Tensor& indices, TensorArg values, const ScatterOptions& options,
               Site site) {
  if (x.is_number()) throw InvalidArgument("scatter: it changes places of a tensor; a number was given", site);
  const Shape shape = x.tensor().shape(site);
  const std::size_t along = checked_axis("scatter", axis, shape.size(), site);
  const Tensor checked = detail::as_indices("scatter", indices, site);
  bool fits = indices.rank() == shape.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i) fits = i == along || indices.shape()[i] <= shape[i];
  if (!fits) {
    throw ShapeError(text("scatter: the indices must have the axes of the tensor and not be larger beside the axis ", along,
                          "; the tensor has the shape ", to_string(shape), ", the indices ", to_string(indices.shape())),
                     site);
  }
  ScatterAttributes attributes;
  attributes.mode = options.mode;
  attributes.is_along = true;
  attributes.first = static_cast<std::int8_t>(along);
  attributes.names[0] = static_cast<std::int8_t>(along);
  attributes.rank = static_cast<std::int8_t>(shape.size());
  const Dims strides = dense_strides(shape);
  for (std::size_t i = 0; i < shape.size(); ++i) attributes.axes[i] = {shape[i], strides[i]};
  Tensor out = detail::scatter_values("scatter", x, attributes, {&checked, 1}, checked.shape(), values, site);
  values.let_go();
  return out;
}

}  // namespace tutti
