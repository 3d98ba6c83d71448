#include "tutti/ops/scan.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/scan_attributes.h"
#include "tutti/ops/arrange.h"
#include "tutti/ops/elementwise.h"
#include "tutti/tensor/axes.h"

namespace tutti {

namespace {

void infer_scan(Inference& in) {
  in.expect_inputs(1);
  Shape out = in.shape(0);
  if (out.empty()) in.reject_shapes("the input needs at least one axis");
  const auto attributes = in.attributes<ScanAttributes>();
  if (attributes.after < 0 || static_cast<std::size_t>(attributes.after) >= out.size())
    in.reject_shapes("it has no such axis to run along");
  if (attributes.include_initial) ++out[out.size() - 1 - static_cast<std::size_t>(attributes.after)];
  in.output(is_floating(in.dtype(0)) ? in.dtype(0) : DType::i64, out);
}

// A GPU goes down a strip of columns once, however long they are; on a CPU a copy that puts the axis last is quicker.
constexpr detail::ColumnLimits scan_limits{
    .longest_on_cpu = 0, .longest_elsewhere = detail::any_length, .fewest_elsewhere = 4096};
const OpRow& cumsum_row = register_op({.name = "Cumsum",
                                       .function = "cumulative_sum",
                                       .infer = infer_scan,
                                       .arrange = detail::arrange_lines<ScanAttributes, scan_limits>});
const OpRow& product_row = register_op({.name = "Cumprod",
                                        .function = "cumprod",
                                        .infer = infer_scan,
                                        .arrange = detail::arrange_lines<ScanAttributes, scan_limits>});

Tensor scan(const OpRow& row, const char* function, const Tensor& x, std::int64_t axis, bool include_initial, Site site) {
  const std::size_t along = checked_axis(function, axis, x.rank(site), site);
  OpCall call(row, site);
  call.called_as.function = function;
  call.add(x);
  call.attributes = Attributes(ScanAttributes{include_initial, static_cast<std::int32_t>(x.rank() - 1 - along)});
  return dispatch_one(call);
}

}  // namespace

Tensor cumulative_sum(const Tensor& x, std::int64_t axis, const CumulativeSumOptions& options, Site site) {
  if (options.dtype == DType::boolean)
    throw InvalidArgument("cumulative_sum: the dtype of the result must hold numbers, not bool", site);
  // Integers are summed as int64 whatever they are to become: a narrower dtype has its lowest bits.
  const bool is_cast_first =
      options.dtype && (is_floating(*options.dtype) || is_floating(x.dtype(site))) && *options.dtype != x.dtype();
  const Tensor elements = is_cast_first ? cast(x, *options.dtype, site) : x;
  const Tensor sums = scan(cumsum_row, "cumulative_sum", elements, axis, options.include_initial, site);
  return options.dtype ? cast(sums, *options.dtype, site) : sums;
}

Tensor cumulative_sum(const Tensor& x, const CumulativeSumOptions& options, Site site) {
  if (x.rank(site) != 1) {
    throw ShapeError(text("cumulative_sum: say along which axis; the shape is ", to_string(x.shape()),
                          ", and the axis may be left out only where there is exactly one"),
                     site);
  }
  return cumulative_sum(x, 0, options, site);
}

Tensor cumsum(const Tensor& x, std::int64_t axis, Site site) { return scan(cumsum_row, "cumsum", x, axis, false, site); }
Tensor cumprod(const Tensor& x, std::int64_t axis, Site site) { return scan(product_row, "cumprod", x, axis, false, site); }

}  // namespace tutti
