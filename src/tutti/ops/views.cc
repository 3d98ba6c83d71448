#include "tutti/ops/views.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/transfer.h"
#include "tutti/ops/view_attributes.h"

namespace tutti {

namespace {

template <class A>
using MakeView = Tensor (*)(const Tensor& x, const A& attributes, const char* function, Site site);

// A row whose calls `make` carries out, from the attributes in the call.
template <class A, MakeView<A> make>
const OpRow& view_row(const char* name, const char* function) {
  return register_op({.name = name, .function = function, .kind = OpKind::view, .run = [](OpCall& call) {
                        call.outputs.push_back(make(call.tensor(0), call.attributes.as<A>(), call.function(), call.site));
                      }});
}

// Where nobody listens, no call is made.
template <class A, MakeView<A> make>
Tensor view(const OpRow& row, const Tensor& x, const A& attributes, Site site, const char* function = nullptr) {
  if (detail::thread_state.top == nullptr) [[likely]]
    return make(x, attributes, function, site);
  OpCall call(row, site);
  call.called_as.function = function;
  call.add(x);
  call.attributes = Attributes(attributes);
  return dispatch_one(call);
}

Tensor make_slice(const Tensor& x, const SliceAttributes& part, const char*, Site) { return detail::sliced(x, part); }
Tensor make_permuted(const Tensor& x, const AxesAttributes& by, const char*, Site) { return detail::permuted(x, by.axes); }
Tensor make_broadcast(const Tensor& x, const ShapeAttributes& to, const char*, Site) { return detail::broadcasted(x, to.shape); }
Tensor make_diagonal(const Tensor& x, const DiagonalAttributes& which, const char*, Site) {
  return detail::diagonal_of(x, which);
}
Tensor make_region(const Tensor& x, const RegionAttributes& part, const char*, Site) {
  return detail::view_of(x, part.shape, part.strides, x.impl().offset() + part.offset);
}
Tensor make_same(const Tensor& x, const ShapeAttributes& shape, const char*, Site) {
  return detail::view_of(x, shape.shape, x.strides(), x.impl().offset());
}
Tensor make_reshaped(const Tensor& x, const ShapeAttributes& to, const char* function, Site site) {
  if (std::optional<Tensor> same = detail::try_reshape(x, to.shape)) return *std::move(same);
  return *detail::try_reshape(fresh_copy(x, runtime(site).of(x.impl().buffer()->device()), site, function), to.shape);
}

const OpRow& slice_row = view_row<SliceAttributes, make_slice>("StridedSlice", "slice");
const OpRow& permute_row = view_row<AxesAttributes, make_permuted>("Transpose", "permute_dims");
const OpRow& broadcast_row = view_row<ShapeAttributes, make_broadcast>("BroadcastTo", "broadcast_to");
const OpRow& diagonal_row = view_row<DiagonalAttributes, make_diagonal>("MatrixDiagPart", "diagonal");
const OpRow& reshape_row = view_row<ShapeAttributes, make_reshaped>("Reshape", "reshape");
const OpRow& region_row = view_row<RegionAttributes, make_region>("_Region", "at");
// A tensor of its own over the same elements; one passes gradients on, the other does not.
const OpRow& identity_row = view_row<ShapeAttributes, make_same>("Identity", "identity");
const OpRow& stop_row = view_row<ShapeAttributes, make_same>("StopGradient", "stop_gradient");

Tensor permute(const Tensor& x, const Dims& axes, Site site) {
  return view<AxesAttributes, make_permuted>(permute_row, x, {axes}, site);
}

}  // namespace

Tensor detail::slice_by(const Tensor& x, const SliceAttributes& part, Site site) {
  return view<SliceAttributes, make_slice>(slice_row, x, part, site);
}

Tensor detail::region_by(const Tensor& x, const RegionAttributes& part, Site site) {
  return view<RegionAttributes, make_region>(region_row, x, part, site);
}

Tensor detail::identity(const Tensor& x, Site site) {
  return view<ShapeAttributes, make_same>(identity_row, x, {x.shape(site)}, site);
}

Tensor stop_gradient(const Tensor& x, Site site) { return view<ShapeAttributes, make_same>(stop_row, x, {x.shape(site)}, site); }

Tensor slice(const Tensor& x, std::int64_t axis, const Range& range, Site site) {
  const std::size_t at = checked_axis("slice", axis, x.rank(site), site);
  SliceAttributes part = detail::whole(x.shape());
  part.axes[at] = resolve_range("slice", range, x.shape()[at], site);
  return detail::slice_by(x, part, site);
}

Tensor permute_dims(const Tensor& x, const Dims& axes, Site site) {
  return permute(x, detail::permuted_axes("permute_dims", x.shape(site), axes, site), site);
}

Tensor transpose(const Tensor& x, Site site) { return permute(x, detail::reversed_axes(x.rank(site)), site); }

Tensor transpose(const Tensor& x, std::int64_t axis1, std::int64_t axis2, Site site) {
  return permute(x, detail::swapped_axes(x.rank(site), axis1, axis2, site), site);
}

Tensor transpose(const Tensor& x, const Dims& axes, Site site) {
  return permute(x, detail::permuted_axes("transpose", x.shape(site), axes, site), site);
}

Tensor broadcast_to(const Tensor& x, const Shape& shape, Site site) {
  const std::optional<Shape> common = element_count(shape) ? broadcast(x.shape(site), shape) : std::nullopt;
  if (!common || !(*common == shape)) {
    throw ShapeError(text("broadcast_to: a tensor of shape ", to_string(x.shape(site)), " cannot be broadcast to ",
                          to_string(shape), "; an axis can grow only from size 1"),
                     site);
  }
  return view<ShapeAttributes, make_broadcast>(broadcast_row, x, {shape}, site);
}

Tensor diagonal(const Tensor& x, const DiagonalOptions& options, Site site) {
  const std::size_t rows = checked_axis("diagonal", options.axis1, x.rank(site), site);
  const std::size_t columns = checked_axis("diagonal", options.axis2, x.rank(), site);
  if (rows == columns) throw ShapeError(text("diagonal needs two axes, and got axis ", options.axis1, " twice"), site);
  return view<DiagonalAttributes, make_diagonal>(
      diagonal_row, x, {options.offset, static_cast<std::int32_t>(rows), static_cast<std::int32_t>(columns)}, site);
}

Tensor reshape(const Tensor& x, const Shape& shape, Site site) { return detail::reshape_as("reshape", x, shape, site); }

Tensor detail::reshape_as(const char* function, const Tensor& x, const Shape& shape, Site site) {
  return view<ShapeAttributes, make_reshaped>(reshape_row, x, {resolve_reshape(function, x.shape(site), shape, site)}, site,
                                              function);
}

}  // namespace tutti
