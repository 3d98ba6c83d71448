#include "tutti/ops/manipulation.h"

#include <algorithm>
#include <array>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/manipulation_attributes.h"
#include "tutti/ops/arrange.h"
#include "tutti/ops/elementwise.h"

namespace tutti {

namespace {

void infer_concat(Inference& in) {
  if (in.inputs() == 0) in.reject_shapes("there is nothing to join");
  const std::size_t axis = checked_axis(in.function(), in.attributes<ConcatAttributes>().axis, in.shape(0).size(), in.site());
  Shape out = in.shape(0);
  for (std::size_t i = 1; i < in.inputs(); ++i) {
    if (in.dtype(i) != in.dtype(0)) in.reject_dtypes("all inputs must have one dtype");
    const Shape& shape = in.shape(i);
    bool fits = shape.size() == out.size();
    for (std::size_t k = 0; fits && k < out.size(); ++k) fits = k == axis || shape[k] == out[k];
    if (!fits) in.reject_shapes(text("the shapes must be equal but for axis ", axis));
    if (__builtin_add_overflow(out[axis], shape[axis], &out[axis])) in.reject_shapes("the result is too large");
  }
  in.output(in.dtype(0), out);
}

void infer_pad(Inference& in) {
  in.expect_inputs(2);
  if (in.dtype(1) != in.dtype(0)) in.reject_dtypes("both inputs must have one dtype");
  if (!in.shape(1).empty()) in.reject_shapes("the value must be one element");
  const auto widths = in.attributes<PadAttributes>();
  Shape out = in.shape(0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (widths.before[i] < 0 || widths.after[i] < 0) in.reject_shapes("a width is negative");
    if (__builtin_add_overflow(out[i], widths.before[i], &out[i]) || __builtin_add_overflow(out[i], widths.after[i], &out[i]))
      in.reject_shapes("the result is too large");
  }
  in.output(in.dtype(0), out);
}

// Tensors that are all transposed alike give one that is, too.
Dims arrange_concat(OpCall& call, const LogicalDevice&) {
  const Dims order = detail::axes_by_stride(*call.inputs()[0].tensor);
  if (order.empty()) [[likely]]
    return {};
  for (const OpInput& input : call.inputs()) {
    if (!(detail::axes_by_stride(*input.tensor) == order)) return {};
  }
  const auto axis = static_cast<std::size_t>(call.attributes.as<ConcatAttributes>().axis);
  call.attributes = Attributes(ConcatAttributes{static_cast<std::int32_t>(detail::place_of(axis, order))});
  return order;
}

Dims arrange_pad(OpCall& call, const LogicalDevice&) {
  const Dims order = detail::axes_by_stride(*call.inputs()[0].tensor);
  if (order.empty()) [[likely]]
    return {};
  const auto widths = call.attributes.as<PadAttributes>();
  PadAttributes arranged;
  for (std::size_t i = 0; i < order.size(); ++i) {
    arranged.before[i] = widths.before[static_cast<std::size_t>(order[i])];
    arranged.after[i] = widths.after[static_cast<std::size_t>(order[i])];
  }
  call.attributes = Attributes(arranged);
  return order;
}

const OpRow& concat_row =
    register_op({.name = "ConcatV2", .function = "concat", .infer = infer_concat, .strided = true, .arrange = arrange_concat});
const OpRow& pad_row =
    register_op({.name = "PadV2", .function = "pad", .infer = infer_pad, .strided = true, .arrange = arrange_pad});

// A call takes no more; longer lists are joined in two rounds.
constexpr std::size_t most_joined = 4096;

Tensor join(const char* function, std::span<const Tensor> tensors, std::size_t axis, Site site) {
  if (tensors.size() > most_joined) {
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i < tensors.size(); i += most_joined)
      parts.push_back(join(function, tensors.subspan(i, std::min(most_joined, tensors.size() - i)), axis, site));
    return join(function, parts, axis, site);
  }
  OpCall call(concat_row, site);
  call.called_as.function = function;
  for (const Tensor& x : tensors) call.add(x);
  call.attributes = Attributes(ConcatAttributes{static_cast<std::int32_t>(axis)});
  return dispatch_one(call);
}

// The tensors in one dtype, each changed by `change`.
template <class Change>
std::vector<Tensor> promoted(const char* function, std::span<const Tensor> tensors, Site site, const Change& change) {
  if (tensors.empty()) throw InvalidArgument(text(function, " got no tensors"), site);
  DType dtype = tensors[0].dtype(site);
  for (const Tensor& x : tensors) dtype = promote(dtype, x.dtype(site));
  std::vector<Tensor> out;
  out.reserve(tensors.size());
  for (const Tensor& x : tensors) out.push_back(change(cast(x, dtype, site)));
  return out;
}

// The sizes before the axis, along it, and behind it, each as one.
struct Around {
  std::int64_t outer = 1;
  std::int64_t size = 1;
  std::int64_t inner = 1;
};
Around around(const Shape& shape, std::size_t axis) {
  Around out{1, shape[axis], 1};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i < axis) out.outer *= shape[i];
    if (i > axis) out.inner *= shape[i];
  }
  return out;
}

Shape with_axis(const Shape& shape, std::size_t at, std::int64_t size) {
  Shape out;
  for (std::size_t i = 0; i <= shape.size(); ++i) {
    if (i == at) out.push_back(size);
    if (i < shape.size()) out.push_back(shape[i]);
  }
  return out;
}

// Negative numbers of times are refused, and products that do not fit.
void check_grown(const char* function, const Shape& shape, Site site) {
  if (!element_count(shape)) throw ShapeError(text(function, ": a tensor of shape ", to_string(shape), " cannot be made"), site);
}

Tensor tile_axis(const Tensor& x, std::size_t axis, std::int64_t times, Site site) {
  const Around sizes = around(x.shape(), axis);
  Shape shape = x.shape();
  shape[axis] *= times;
  const Tensor flat = detail::reshape_as("tile", x, {sizes.outer, 1, sizes.size * sizes.inner}, site);
  return detail::reshape_as("tile", broadcast_to(flat, {sizes.outer, times, sizes.size * sizes.inner}, site), shape, site);
}

}  // namespace

Tensor concat(std::span<const Tensor> tensors, std::optional<std::int64_t> axis, Site site) {
  const std::vector<Tensor> parts =
      promoted("concat", tensors, site, [&](const Tensor& x) { return axis ? x : reshape(x, {x.size()}, site); });
  return join("concat", parts, checked_axis("concat", axis.value_or(0), parts[0].rank(), site), site);
}

Tensor stack(std::span<const Tensor> tensors, std::int64_t axis, Site site) {
  if (tensors.empty()) throw InvalidArgument("stack got no tensors", site);
  const std::size_t at = checked_axis("stack", axis, tensors[0].rank(site) + 1, site);
  if (tensors[0].rank() == most_axes) throw ShapeError("stack: tensors of 8 axes leave no room for one more", site);
  for (const Tensor& x : tensors) {
    if (x.shape(site) != tensors[0].shape()) {
      throw ShapeError(
          text("stack: the shapes must be equal, and are ", to_string(tensors[0].shape()), " and ", to_string(x.shape())), site);
    }
  }
  const std::vector<Tensor> parts =
      promoted("stack", tensors, site, [&](const Tensor& x) { return expand_dims(x, static_cast<std::int64_t>(at), site); });
  return join("stack", parts, at, site);
}

Tensor roll(const Tensor& x, std::int64_t shift, Site site) {
  return reshape(roll(reshape(x, {x.size(site)}, site), {shift}, {0}, site), x.shape(), site);
}

Tensor roll(const Tensor& x, const Dims& shifts, const Dims& axes, Site site) {
  if (shifts.size() != axes.size()) {
    throw InvalidArgument(
        text("roll got ", shifts.size(), " shifts ", to_string(shifts), " for ", axes.size(), " axes ", to_string(axes)), site);
  }
  Tensor out = x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = checked_axis("roll", axes[i], x.rank(site), site);
    const std::int64_t size = x.shape()[axis];
    const std::int64_t shift = size == 0 ? 0 : (shifts[i] % size + size) % size;
    if (shift == 0) continue;
    const auto at = static_cast<std::int64_t>(axis);
    const std::array parts{slice(out, at, {size - shift, {}}, site), slice(out, at, {{}, size - shift}, site)};
    out = join("roll", parts, axis, site);
  }
  return out;
}

Tensor repeat(const Tensor& x, std::int64_t times, std::optional<std::int64_t> axis, Site site) {
  if (times < 0) throw InvalidArgument(text("repeat: ", times, " times is less than none"), site);
  if (!axis) return repeat(detail::reshape_as("repeat", x, {x.size(site)}, site), times, 0, site);
  const std::size_t at = checked_axis("repeat", *axis, x.rank(site), site);
  Shape shape = x.shape();
  if (__builtin_mul_overflow(shape[at], times, &shape[at])) shape[at] = -1;
  check_grown("repeat", shape, site);
  const bool has_room = x.rank() < most_axes;
  const Around sizes = around(x.shape(), at);
  const Tensor loose = has_room ? expand_dims(x, static_cast<std::int64_t>(at) + 1, site)
                                : detail::reshape_as("repeat", x, {sizes.outer, sizes.size, 1, sizes.inner}, site);
  const Shape grown = has_room ? with_axis(x.shape(), at + 1, times) : Shape{sizes.outer, sizes.size, times, sizes.inner};
  return detail::reshape_as("repeat", broadcast_to(loose, grown, site), shape, site);
}

Tensor tile(const Tensor& x, const Dims& repetitions, Site site) {
  const std::size_t rank = std::max(x.rank(site), repetitions.size());
  Shape from;
  Dims times;
  for (std::size_t i = 0; i < rank; ++i) {
    from.push_back(i < rank - x.rank() ? 1 : x.shape()[i - (rank - x.rank())]);
    times.push_back(i < rank - repetitions.size() ? 1 : repetitions[i - (rank - repetitions.size())]);
  }
  Shape shape = from;
  std::size_t loose_rank = rank;
  for (std::size_t i = 0; i < rank; ++i) {
    if (times[i] < 0) throw InvalidArgument(text("tile: ", to_string(repetitions), " has a negative number"), site);
    if (__builtin_mul_overflow(shape[i], times[i], &shape[i])) shape[i] = -1;
    if (times[i] != 1 && from[i] != 1) ++loose_rank;
  }
  check_grown("tile", shape, site);
  Tensor out = detail::reshape_as("tile", x, from, site);
  if (loose_rank <= most_axes) {
    // A new axis in front of each one that is repeated; an axis of size 1 grows by itself.
    Shape loose;
    Shape grown;
    for (std::size_t i = 0; i < rank; ++i) {
      if (times[i] != 1 && from[i] != 1) {
        loose.push_back(1);
        grown.push_back(times[i]);
      }
      loose.push_back(from[i]);
      grown.push_back(from[i] == 1 ? times[i] : from[i]);
    }
    return detail::reshape_as("tile", broadcast_to(reshape(out, loose, site), grown, site), shape, site);
  }
  for (std::size_t i = rank; i-- > 0;) {
    if (times[i] != 1) out = tile_axis(out, i, times[i], site);
  }
  return out;
}

Tensor pad(const Tensor& x, const std::vector<PadWidth>& widths, TensorArg value, Site site) {
  if (widths.size() != 1 && widths.size() != x.rank(site)) {
    throw ShapeError(text("pad got widths for ", widths.size(), " axes; the shape is ", to_string(x.shape())), site);
  }
  if (!value.is_number() && value.tensor().rank(site) != 0)
    throw ShapeError(text("pad: the value must be one element, not of shape ", to_string(value.tensor().shape())), site);
  PadAttributes attributes;
  for (std::size_t i = 0; i < x.rank(site); ++i) {
    const PadWidth& width = widths[widths.size() == 1 ? 0 : i];
    if (width.before < 0 || width.after < 0)
      throw ShapeError(text("pad: the widths (", width.before, ", ", width.after, ") must not be negative"), site);
    attributes.before[i] = width.before;
    attributes.after[i] = width.after;
  }
  Tensor held;
  OpCall call(pad_row, site);
  call.add(x);
  call.add(detail::input_of(value, x.dtype(), held, site));
  call.attributes = Attributes(attributes);
  return dispatch_one(call);
}

}  // namespace tutti
