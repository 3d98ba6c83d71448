#include "tutti/ops/selection.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/indexing_attributes.h"
#include "tutti/ops/at.h"
#include "tutti/ops/comparison.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/gather.h"
#include "tutti/ops/index_plan.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/patterns.h"
#include "tutti/ops/reading.h"
#include "tutti/ops/reduction.h"
#include "tutti/ops/scan.h"
#include "tutti/ops/scatter.h"

namespace tutti {

namespace {

void check_size(const Inference& in, std::int64_t size) {
  if (size < 0) in.reject_shapes(text("the size must not be negative; it is ", size));
}

void infer_count(Inference& in) {
  in.expect_inputs(1);
  in.output(DType::i64, Shape{});
}

void infer_nonzero(Inference& in) {
  in.expect_inputs(1);
  const auto attributes = in.attributes<NonzeroAttributes>();
  check_size(in, attributes.count);
  in.output(DType::i64, {attributes.count, static_cast<std::int64_t>(in.shape(0).size())});
  if (attributes.room == Room::padded) in.output(DType::i64, Shape{});
}

void infer_masked_select(Inference& in) {
  in.expect_inputs(3);
  const auto attributes = in.attributes<MaskedSelectAttributes>();
  check_size(in, attributes.size);
  if (in.dtype(1) != DType::boolean) in.reject_dtypes("the mask must be bool");
  if (in.dtype(2) != in.dtype(0)) in.reject_dtypes("the fill must have the dtype of the tensor");
  if (!(in.shape(0) == in.shape(1))) in.reject_shapes("the tensor and the mask must have one shape");
  if (!in.shape(2).empty()) in.reject_shapes("the fill must have one element");
  in.output(in.dtype(0), {attributes.size});
  in.output(DType::i64, Shape{});
}

void infer_repeat(Inference& in) {
  in.expect_inputs(1);
  const auto attributes = in.attributes<RepeatAttributes>();
  check_size(in, attributes.size);
  if (in.dtype(0) != DType::i32 && in.dtype(0) != DType::i64) in.reject_dtypes("the repeats must be int32 or int64");
  if (in.shape(0).size() != 1) in.reject_shapes("the repeats must have one axis");
  in.output(DType::i64, {attributes.size});
  if (attributes.room == Room::padded) in.output(DType::i64, Shape{});
}

const OpRow& count_row =
    register_op({.name = "CountNonzero", .function = "count_nonzero", .infer = infer_count, .strided = true});
const OpRow& nonzero_row = register_op({.name = "NonZero", .function = "nonzero", .infer = infer_nonzero, .strided = true});
const OpRow& masked_select_row =
    register_op({.name = "MaskedSelect", .function = "masked_select", .infer = infer_masked_select, .strided = true});
const OpRow& repeat_row =
    register_op({.name = "RepeatIndices", .function = "repeat_interleave", .infer = infer_repeat, .strided = true});

Tensor count_as(const char* function, const Tensor& x, Site site) {
  OpCall call(count_row, site);
  call.called_as.function = function;
  call.add(x);
  return dispatch_one(call);
}

NonzeroResult call_nonzero(const Tensor& x, const NonzeroAttributes& attributes, Site site) {
  OpCall call(nonzero_row, site);
  call.add(x);
  call.attributes = Attributes(attributes);
  dispatch(call);
  return {call.outputs.take(0), call.outputs.take(1)};
}

struct MaskedPair {
  Tensor x;
  Tensor mask;
};
MaskedPair broadcast_mask(const char* function, const Tensor& x, const Tensor& mask, Site site) {
  if (mask.dtype(site) != DType::boolean) {
    throw DTypeError(
        text(function, " needs a mask of bools; this one is ", to_string(mask.dtype()), ". Compare with something first"), site);
  }
  const std::optional<Shape> common = broadcast(x.shape(site), mask.shape());
  if (!common) {
    throw ShapeError(text(function, ": a mask of shape ", to_string(mask.shape()), " and a tensor of shape ",
                          to_string(x.shape()), " do not broadcast: sizes must be equal or 1, counted from the last axis"),
                     site);
  }
  return {broadcast_to(x, *common, site), broadcast_to(mask, *common, site)};
}

MaskedSelectResult call_masked_select(const MaskedPair& pair, const MaskedSelectAttributes& attributes, const WeakScalar& fill,
                                      Site site) {
  OpCall call(masked_select_row, site);
  call.add(pair.x);
  call.add(pair.mask);
  call.add(detail::scalar_input(fill, pair.x.dtype(), site));
  call.attributes = Attributes(attributes);
  dispatch(call);
  return {call.outputs.take(0), call.outputs.take(1)};
}

// Every element along the axis `times` times, by a view that repeats and a copy of it.
Tensor repeat_each(const Tensor& x, std::size_t axis, std::int64_t times, Site site) {
  Shape result = x.shape();
  result[axis] *= times;
  if (!element_count(result))
    throw ShapeError(text("repeat_interleave: repeating ", times, " times gives too many elements"), site);
  const Shape& from = x.shape();
  Shape before(from.view().first(axis + 1));
  Shape after(from.view().subspan(axis + 1));
  if (x.rank() == most_axes) {  // no axis is left for the repeats
    before = {*element_count(before)};
    after = {*element_count(after)};
  }
  Shape with_axis = before;
  Shape repeated = before;
  with_axis.push_back(1);
  repeated.push_back(times);
  for (const std::int64_t size : after) {
    with_axis.push_back(size);
    repeated.push_back(size);
  }
  const Tensor loose = detail::reshape_as("repeat_interleave", x, with_axis, site);
  return detail::reshape_as("repeat_interleave", broadcast_to(loose, repeated, site), result, site);
}

[[noreturn]] void refuse_repeats(const std::string& why, Site site) { throw InvalidArgument("repeat_interleave: " + why, site); }

// What is repeated along which axis, and how often, where a tensor says so.
struct RepeatPlan {
  Tensor from;
  std::size_t axis;
  Tensor counts;
};

RepeatPlan plan_repeats(const Tensor& x, const TensorArg& repeats, std::optional<std::int64_t> axis, Site site) {
  RepeatPlan plan{axis ? x : reshape(x, {-1}, site), 0, {}};
  plan.axis = checked_axis("repeat_interleave", axis.value_or(0), plan.from.rank(site), site);
  if (repeats.is_number()) {
    const WeakScalar& times = repeats.number();
    if (times.kind != DTypeKind::integer || times.is_too_large || times.integer < 0)
      refuse_repeats("the repeats must be whole numbers that are not negative", site);
    return plan;
  }
  const std::int64_t size = plan.from.shape()[plan.axis];
  const Tensor counts = detail::as_indices("repeat_interleave", repeats.tensor(), site);
  if (counts.rank() > 1 || (counts.size() != 1 && counts.size() != size)) {
    refuse_repeats(text("the repeats must be a number or have one element for each of the ", size,
                        " along the axis; their shape is ", to_string(counts.shape())),
                   site);
  }
  plan.counts = broadcast_to(counts, {size}, site);
  return plan;
}

// For each element along the axis of the result, the one it repeats.
RepeatResult call_repeat(const Tensor& counts, const RepeatAttributes& attributes, Site site) {
  OpCall call(repeat_row, site);
  call.add(counts);
  call.attributes = Attributes(attributes);
  dispatch(call);
  return {call.outputs.take(0), call.outputs.take(1)};
}

}  // namespace

Tensor count_nonzero(const Tensor& x, Site site) { return count_as("count_nonzero", x, site); }

Tensor nonzero(const Tensor& x, Site site) {
  const std::int64_t count = detail::read_count(count_as("nonzero", x, site), site);
  return call_nonzero(x, {.count = count}, site).positions;
}

NonzeroResult nonzero(const Tensor& x, const NonzeroOptions& options, Site site) {
  return call_nonzero(x, {.count = options.size, .fill = options.fill, .room = Room::padded}, site);
}

Tensor detail::positions_of(const Tensor& mask, std::int64_t count, Site site) {
  return call_nonzero(mask, {.count = count, .room = Room::given}, site).positions;
}

Tensor masked_select(const Tensor& x, const Tensor& mask, Site site) {
  const MaskedPair pair = broadcast_mask("masked_select", x, mask, site);
  const std::int64_t count = detail::read_count(count_as("masked_select", pair.mask, site), site);
  return call_masked_select(pair, {.size = count}, {.kind = DTypeKind::boolean}, site).values;
}

MaskedSelectResult masked_select(const Tensor& x, const Tensor& mask, const MaskedSelectOptions& options, Site site) {
  if (!options.fill.is_number()) throw InvalidArgument("masked_select fills with a number; a tensor was given", site);
  return call_masked_select(broadcast_mask("masked_select", x, mask, site), {.size = options.size, .room = Room::padded},
                            options.fill.number(), site);
}

Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& values, Site site) {
  const MaskedPair pair = broadcast_mask("masked_scatter", x, mask, site);
  if (!(pair.mask.shape() == x.shape())) {
    throw ShapeError(text("masked_scatter: a mask of shape ", to_string(mask.shape()), " does not broadcast to ",
                          to_string(x.shape()), ", the shape of the tensor whose elements it chooses"),
                     site);
  }
  const Tensor line = reshape(values, {-1}, site);
  const Tensor given = detail::values_for("masked_scatter", line, x.dtype(), line.shape(), site);
  if (given.size() == 0) return at(x, {pair.mask}, site).set(given, site);  // for a mask that holds nowhere
  const Tensor holds = reshape(pair.mask, {-1}, site);
  const Tensor number = subtract(cumsum(holds, 0, site), 1, site);
  const Tensor chosen = take(given, where(holds, number, 0, site), 0, site);
  return where(pair.mask, reshape(chosen, x.shape(), site), x, site);
}

Tensor repeat_interleave(const Tensor& x, const TensorArg& repeats, std::optional<std::int64_t> axis, Site site) {
  const RepeatPlan plan = plan_repeats(x, repeats, axis, site);
  if (repeats.is_number()) return repeat_each(plan.from, plan.axis, repeats.number().integer, site);
  const std::int64_t total = detail::read_count(sum(cast(plan.counts, DType::i64, site), site), site);
  if (total < 0) refuse_repeats(text("the repeats add up to ", total), site);
  const RepeatResult sources = call_repeat(plan.counts, {.size = total}, site);
  return take(plan.from, sources.values, static_cast<std::int64_t>(plan.axis), site);
}

RepeatResult repeat_interleave(const Tensor& x, const TensorArg& repeats, const RepeatSizeOptions& options, Site site) {
  if (!options.fill.is_number()) throw InvalidArgument("repeat_interleave fills with a number; a tensor was given", site);
  const std::int64_t size = options.output_size.value;
  if (size < 0) refuse_repeats(text("the output size must not be negative; it is ", size), site);
  const RepeatPlan plan = plan_repeats(x, repeats, options.axis, site);
  const std::int64_t elements = plan.from.shape()[plan.axis];
  const auto filled = [&](const Shape& shape, const TensorArg& value, DType dtype) {
    return detail::filled("repeat_interleave", shape, value, dtype, &plan.from, site);
  };
  const Tensor counts = repeats.is_number() ? filled({elements}, repeats, DType::i64) : plan.counts;
  Shape result = plan.from.shape();
  result[plan.axis] = size;
  if (elements == 0) return {filled(result, options.fill, plan.from.dtype()), filled({}, 0, DType::i64)};
  RepeatResult sources = call_repeat(counts, {.size = size, .room = Room::padded}, site);
  const Tensor values = take(plan.from, sources.values, static_cast<std::int64_t>(plan.axis), site);
  Shape along_axis = plan.from.shape();
  for (std::size_t i = 0; i < along_axis.size(); ++i) along_axis[i] = 1;
  along_axis[plan.axis] = size;
  const Tensor is_there = reshape(less(detail::positions(size, sources.count, site), sources.count, site), along_axis, site);
  return {where(is_there, values, options.fill, site), std::move(sources.count)};
}

}  // namespace tutti
