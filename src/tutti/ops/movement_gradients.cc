// The gradients of views, of what joins and pads, and of what picks elements or puts them into places.
#include <algorithm>
#include <array>

#include "tutti/exec/attributes.h"
#include "tutti/exec/indexing_attributes.h"
#include "tutti/exec/manipulation_attributes.h"
#include "tutti/exec/sorting_attributes.h"
#include "tutti/ops/comparison.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/gather.h"
#include "tutti/ops/gradient_rules.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/patterns.h"
#include "tutti/ops/reduction.h"
#include "tutti/ops/scan.h"
#include "tutti/ops/scatter.h"
#include "tutti/ops/sorting.h"
#include "tutti/ops/view_attributes.h"
#include "tutti/ops/views.h"

namespace tutti {

namespace {

using detail::operand;

// A region of a contiguous tensor of that shape: all of it.
ScatterAttributes whole_of(const Shape& shape, ScatterMode mode) {
  ScatterAttributes out;
  out.mode = mode;
  out.rank = static_cast<std::int8_t>(shape.size());
  const Dims strides = dense_strides(shape);
  for (std::size_t i = 0; i < shape.size(); ++i) out.axes[i] = {shape[i], strides[i]};
  return out;
}

// Zeros of the input's shape with the gradient put into that region of them.
Tensor put_into_zeros(const GradientCall& call, const ScatterAttributes& region, std::span<const Tensor> indices) {
  const Tensor& g = call.gradient();
  return detail::scatter_values(nullptr, zeros(call.shape(0), g.dtype(), call.site), region, indices, g.shape(), g, call.site);
}

// What stands in the region of a contiguous x that a scatter changes.
Tensor region_of(const Tensor& x, const ScatterAttributes& region, Site site) {
  RegionAttributes part;
  part.offset = region.offset;
  for (std::size_t i = 0; i < static_cast<std::size_t>(region.rank); ++i) {
    part.shape.push_back(region.axes[i].size);
    part.strides.push_back(region.axes[i].stride);
  }
  return detail::region_by(contiguous(x, site), part, site);
}

void slice_rule(GradientCall& call) {
  const auto part = call.as<SliceAttributes>();
  const Shape& from = call.shape(0);
  ScatterAttributes region;
  const Dims strides = dense_strides(from);
  // The result's axes: those of the input that were not dropped, without the new ones.
  Shape shape;
  std::vector<PadWidth> widths;
  bool is_plain = true;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Stretch& stretch = part.axes[i];
    region.offset += stretch.start * strides[i];
    region.axes[i] = {stretch.count, stretch.step * strides[i]};
    shape.push_back(stretch.count);
    is_plain = is_plain && (stretch.step == 1 || stretch.count <= 1) && stretch.count > 0;
    widths.push_back({stretch.start, from[i] - stretch.start - stretch.count});
  }
  region.rank = static_cast<std::int8_t>(from.size());
  const Tensor g = reshape(call.gradient(), shape, call.site);
  if (is_plain && !from.empty()) return call.give(0, pad(g, widths, 0, call.site));
  call.give(0, detail::scatter_values(nullptr, zeros(from, g.dtype(), call.site), region, {}, shape, g, call.site));
}
void permute_rule(GradientCall& call) {
  call.give(0, permute_dims(call.gradient(), detail::inverted(call.as<AxesAttributes>().axes), call.site));
}
void broadcast_rule(GradientCall& call) { call.give(0, detail::sum_to(call.gradient(), call.shape(0), call.site)); }
void reshape_rule(GradientCall& call) { call.give(0, reshape(call.gradient(), call.shape(0), call.site)); }
void diagonal_rule(GradientCall& call) {
  const auto which = call.as<DiagonalAttributes>();
  const Shape& from = call.shape(0);
  const Dims strides = dense_strides(from);
  const auto row_axis = static_cast<std::size_t>(which.rows);
  const auto column_axis = static_cast<std::size_t>(which.columns);
  ScatterAttributes region;
  std::size_t axes = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i != row_axis && i != column_axis) region.axes[axes++] = {from[i], strides[i]};
  }
  const Shape& g = call.gradient().shape();
  region.axes[axes++] = {g[g.size() - 1], strides[row_axis] + strides[column_axis]};
  region.rank = static_cast<std::int8_t>(axes);
  region.offset = which.offset >= 0 ? which.offset * strides[column_axis] : -which.offset * strides[row_axis];
  call.give(0, put_into_zeros(call, region, {}));
}
// A region's elements are distinct: it comes from a scatter.
void region_rule(GradientCall& call) {
  const auto part = call.as<RegionAttributes>();
  ScatterAttributes region;
  region.offset = part.offset;
  region.rank = static_cast<std::int8_t>(part.shape.size());
  for (std::size_t i = 0; i < part.shape.size(); ++i) region.axes[i] = {part.shape[i], part.strides[i]};
  call.give(0, put_into_zeros(call, region, {}));
}
void same(GradientCall& call) { call.give(0, call.gradient()); }

void concat_rule(GradientCall& call) {
  const std::int64_t axis = call.as<ConcatAttributes>().axis;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const std::int64_t end = begin + call.shape(i)[static_cast<std::size_t>(axis)];
    if (call.wants(i)) call.give(i, slice(call.gradient(), axis, {begin, end}, call.site));
    begin = end;
  }
}
void pad_rule(GradientCall& call) {
  const auto widths = call.as<PadAttributes>();
  Tensor inside = call.gradient();
  for (std::size_t i = 0; i < call.shape(0).size(); ++i)
    inside = slice(inside, static_cast<std::int64_t>(i), {widths.before[i], widths.before[i] + call.shape(0)[i]}, call.site);
  if (call.wants(0)) call.give(0, inside);
  if (call.wants(1)) call.give(1, subtract(sum(call.gradient(), call.site), sum(inside, call.site), call.site));
}
void fill_rule(GradientCall& call) { call.give(0, sum(call.gradient(), call.site)); }
void band_rule(GradientCall& call) {
  const auto band = call.as<BandAttributes>();
  call.give(0, detail::band_of(call.gradient(), band, call.site));
}

// The indices of a call, from input `begin` on.
std::vector<Tensor> indices_of(const GradientCall& call, std::size_t begin) {
  std::vector<Tensor> out;
  for (std::size_t i = begin; i < call.inputs.size(); ++i) out.push_back(call.input(i));
  return out;
}
void take_rule(GradientCall& call) {
  ScatterAttributes region = whole_of(call.shape(0), ScatterMode::add);
  const std::int32_t axis = call.as<TakeAttributes>().axis;
  region.first = static_cast<std::int8_t>(axis);
  region.names[0] = static_cast<std::int8_t>(axis);
  call.give(0, put_into_zeros(call, region, indices_of(call, 1)));
}
void gather_nd_rule(GradientCall& call) {
  const auto attributes = call.as<GatherAttributes>();
  ScatterAttributes region = whole_of(call.shape(0), ScatterMode::add);
  region.first = attributes.first;
  region.names = attributes.names;
  call.give(0, put_into_zeros(call, region, indices_of(call, 1)));
}
void along_rule(GradientCall& call) {
  const std::int64_t axis = call.as<AlongAttributes>().axis;
  call.give(0, scatter(zeros(call.shape(0), call.inputs[0].dtype, call.site), axis, call.input(1), call.gradient(),
                       {ScatterMode::add}, call.site));
}

// What a tensor of the output's shape holds at the places of a scatter, as the values have it.
Tensor at_places(const GradientCall& call, const Tensor& x) {
  const auto region = call.as<ScatterAttributes>();
  const std::vector<Tensor> indices = indices_of(call, 2);
  Tensor part = region_of(x, region, call.site);
  if (indices.empty()) return part;
  if (region.is_along) return gather(part, region.first, indices[0], call.site);
  return detail::gather_nd(nullptr, part, static_cast<std::size_t>(region.first), indices,
                           std::span(region.names).first(indices.size()), call.site);
}
// One value may stand for all places.
void give_values(GradientCall& call, const Tensor& gradient) { call.give(1, detail::sum_to(gradient, call.shape(1), call.site)); }
Tensor scattered(const GradientCall& call, ScatterMode mode, const Tensor& x, const TensorArg& values) {
  auto region = call.as<ScatterAttributes>();
  region.mode = mode;
  const Shape places = at_places(call, x).shape();
  return detail::scatter_values(nullptr, x, region, indices_of(call, 2), places, values, call.site);
}
// Of several values for one place the last one was set.
void scatter_set_rule(GradientCall& call) {
  if (call.wants(0)) call.give(0, scattered(call, ScatterMode::set, call.gradient(), 0));
  if (!call.wants(1)) return;
  Tensor gradient = at_places(call, call.gradient());
  if (call.inputs.size() > 2) {
    const Tensor numbers = reshape(arange(1, gradient.size() + 1, {}, call.site), gradient.shape(), call.site);
    const Tensor none = zeros(call.shape(0), DType::i64, call.site);
    const Tensor last = at_places(call, scattered(call, ScatterMode::maximum, none, numbers));
    gradient = where(equal(last, numbers, call.site), gradient, 0, call.site);
  }
  give_values(call, gradient);
}
void scatter_add_rule(GradientCall& call) {
  if (call.wants(0)) call.give(0, call.gradient());
  if (call.wants(1)) give_values(call, at_places(call, call.gradient()));
}
// The values of one place are each other's factors; the slope of one is the quotient.
void scatter_multiply_rule(GradientCall& call) {
  if (call.wants(0)) call.give(0, scattered(call, ScatterMode::multiply, call.gradient(), operand(call, 1)));
  if (!call.wants(1)) return;
  const Tensor change = at_places(call, multiply(call.gradient(), call.output(), call.site));
  give_values(call, divide(change, operand(call, 1), call.site));
}
// What was not replaced keeps its gradient; the values that came through, which are equal, share it.
void scatter_extreme_rule(GradientCall& call) {
  const Tensor kept = equal(call.output(), operand(call, 0), call.site);
  if (call.wants(0)) call.give(0, where(kept, call.gradient(), 0, call.site));
  if (!call.wants(1)) return;
  Tensor rest = at_places(call, where(kept, 0, call.gradient(), call.site));
  const Tensor came = equal(at_places(call, call.output()), operand(call, 1), call.site);
  if (call.inputs.size() > 2) {
    const Tensor none = zeros(call.shape(0), rest.dtype(), call.site);
    const Tensor count = at_places(call, scattered(call, ScatterMode::add, none, cast(came, rest.dtype(), call.site)));
    rest = divide(rest, maximum(count, 1, call.site), call.site);
  }
  give_values(call, where(came, rest, 0, call.site));
}

// Where each value came from, along the last axis.
void sort_rule(GradientCall& call) {
  const auto sorted = call.as<SortAttributes>();
  if (!sorted.wants_values) return;
  Tensor places = sorted.wants_indices ? call.output(1) : Tensor();
  if (!places.is_defined()) {
    places = argsort(call.input(0), -1, {.descending = sorted.is_descending}, call.site);
    places = slice(places, -1, {0, sorted.keep}, call.site);
  }
  call.give(0, scatter(zeros(call.shape(0), call.inputs[0].dtype, call.site), -1, places, call.gradient(), {ScatterMode::add},
                       call.site));
}
void masked_select_rule(GradientCall& call) {
  const Tensor& mask = call.input(1);
  const std::int64_t size = call.as<MaskedSelectAttributes>().size;
  const Tensor holds = reshape(mask, {-1}, call.site);
  const Tensor number = subtract(cumsum(holds, 0, call.site), 1, call.site);
  const Tensor is_taken = logical_and(holds, less(number, size, call.site), call.site);
  if (call.wants(0) && size > 0) {
    const Tensor chosen = take(call.gradient(), where(is_taken, number, 0, call.site), 0, call.site);
    call.give(0, reshape(where(is_taken, chosen, 0, call.site), call.shape(0), call.site));
  }
}

constexpr const char* gives_places = "its result is a place, a whole number";

[[maybe_unused]] const bool movement_rules[] = {
    register_gradient("StridedSlice", {.apply = slice_rule}),
    register_gradient("Transpose", {.apply = permute_rule}),
    register_gradient("BroadcastTo", {.apply = broadcast_rule}),
    register_gradient("Reshape", {.apply = reshape_rule}),
    register_gradient("MatrixDiagPart", {.apply = diagonal_rule}),
    register_gradient("Identity", {.apply = same}),
    register_gradient("StopGradient", {.apply = detail::steps}),
    register_gradient("_Region", {.apply = region_rule}),
    register_gradient("_Contiguous", {.apply = same}),
    register_gradient("_Copy", {.apply = same}),
    register_gradient("_Pin", {.apply = same}),
    register_gradient("ConcatV2", {.apply = concat_rule}),
    register_gradient("PadV2", {.apply = pad_rule}),
    register_gradient("Fill", {.apply = fill_rule}),
    register_gradient("MatrixBandPart", {.apply = band_rule}),
    register_gradient("GatherV2", {.apply = take_rule, .reads_inputs = reads::second}),
    register_gradient("GatherNd", {.apply = gather_nd_rule, .reads_inputs = reads::every & ~reads::first}),
    register_gradient("TakeAlongAxis", {.apply = along_rule, .reads_inputs = reads::second}),
    register_gradient("TensorScatterUpdate",
                      {.apply = scatter_set_rule, .reads_inputs = reads::every & ~(reads::first | reads::second)}),
    register_gradient("TensorScatterAdd",
                      {.apply = scatter_add_rule, .reads_inputs = reads::every & ~(reads::first | reads::second)}),
    register_gradient(
        "TensorScatterMul",
        {.apply = scatter_multiply_rule, .reads_inputs = reads::every & ~reads::first, .reads_outputs = reads::first}),
    register_gradient("TensorScatterMin",
                      {.apply = scatter_extreme_rule, .reads_inputs = reads::every, .reads_outputs = reads::first}),
    register_gradient("TensorScatterMax",
                      {.apply = scatter_extreme_rule, .reads_inputs = reads::every, .reads_outputs = reads::first}),
    register_gradient("Sort", {.apply = sort_rule, .reads_inputs = reads::first, .reads_outputs = reads::second}),
    register_gradient("TopKV2", {.apply = sort_rule, .reads_inputs = reads::first, .reads_outputs = reads::second}),
    register_gradient("MaskedSelect", {.apply = masked_select_rule, .reads_inputs = reads::second}),
    register_gradient("SearchSorted", no_gradient(gives_places)),
    register_gradient("NonZero", no_gradient(gives_places)),
    register_gradient("RepeatIndices", no_gradient(gives_places)),
    register_gradient("UniqueCount", no_gradient("its result is a count")),
    register_gradient("Unique", no_gradient("which values are equal decides its result; sort() and take() have gradients")),
    register_gradient("OneHot", no_gradient("it takes whole numbers")),
    register_gradient("Range", no_gradient("it takes no tensors")),
    register_gradient("Empty", no_gradient("it takes no tensors")),
    register_gradient("_EagerConst", no_gradient("it takes no tensors")),
    register_gradient("RandomUniform", no_gradient("a draw takes no tensors; scale and shift what was drawn")),
    register_gradient("RandomStandardNormal", no_gradient("a draw takes no tensors; scale and shift what was drawn")),
    register_gradient("RandomUniformInt", no_gradient("it gives whole numbers")),
    register_gradient("RandomBernoulli", no_gradient("a draw takes no tensors")),
    register_gradient("ReadVariableOp", no_gradient("a tape knows variables itself")),
    register_gradient("AssignVariableOp", no_gradient("a tape knows variables itself")),
    register_gradient("AssignAddVariableOp", no_gradient("a tape knows variables itself")),
    register_gradient(
        "While",
        no_gradient("how often its body runs is known on the device alone; write the steps out in a loop of the host's")),
};

}  // namespace

}  // namespace tutti
