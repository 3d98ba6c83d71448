#include "tutti/ops/scan.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/executor.h"
#include "tutti/exec/scan_attributes.h"
#include "tutti/ops/columns.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/repeats.h"

namespace tutti {

namespace {

void infer_scan(Inference& in) {
  in.expect_inputs(1);
  Shape out = in.shape(0);
  if (out.empty()) in.reject_shapes("the input needs at least one axis");
  const auto attributes = in.attributes<ScanAttributes>();
  if (attributes.after < 0 || static_cast<std::size_t>(attributes.after) >= out.size())
    in.reject_shapes("it has no such axis to run along");
  if (attributes.times != 0) {
    if (attributes.times < 0 || attributes.after != 0 || out[out.size() - 1] != 1)
      in.reject_shapes("a line that repeats one element has one");
    out[out.size() - 1] = attributes.times;
  }
  if (attributes.include_initial) ++out[out.size() - 1 - static_cast<std::size_t>(attributes.after)];
  in.output(is_floating(in.dtype(0)) ? in.dtype(0) : DType::i64, out);
}

const OpRow& cumsum_row = register_op({.name = "Cumsum", .function = "cumulative_sum", .infer = infer_scan});
const OpRow& product_row = register_op({.name = "Cumprod", .function = "cumprod", .infer = infer_scan});

// A GPU goes down a strip of columns once, however long they are; a host turns them sooner than that.
constexpr detail::ColumnLimits scan_limits{
    .longest_on_host = 0, .longest_elsewhere = detail::any_length, .fewest_elsewhere = 4096};

Tensor run_scan(const OpRow& row, const Tensor& operand, const ScanAttributes& attributes, Site site) {
  OpCall call(row, site);
  call.add(operand);
  call.attributes = Attributes(attributes);
  execute(call);
  return std::move(call.outputs[0]);
}

Tensor scan(const OpRow& row, const Tensor& x, std::int64_t given_axis, bool include_initial, Site site) {
  const std::size_t axis = checked_axis(given_axis, x.rank(site), site);
  return detail::once_per_line(x, axis, site, [&](const Tensor& once) {
    if ((detail::repeated_axes(once) >> axis & 1U) == 0) [[likely]] {
      return detail::along_axis(once, axis, scan_limits, site, [&](const Tensor& operand, std::int32_t after) {
        return run_scan(row, operand, {include_initial, after}, site);
      });
    }
    // A line of equal elements is read as one.
    const Tensor lines = detail::axis_last(detail::once_along(once, 1U << axis, site), axis, site);
    const Tensor results = run_scan(row, lines, {.include_initial = include_initial, .times = once.shape()[axis]}, site);
    return detail::axis_back(results, axis, site);
  });
}

}  // namespace

Tensor cumulative_sum(const Tensor& x, std::int64_t axis, const CumulativeSumOptions& options, Site site) {
  if (options.dtype == DType::boolean)
    throw InvalidArgument("cumulative_sum: the dtype of the result must hold numbers, not bool", site);
  // Integers are summed as int64 whatever they are to become: a narrower dtype has its lowest bits.
  const bool is_cast_first =
      options.dtype && (is_floating(*options.dtype) || is_floating(x.dtype(site))) && *options.dtype != x.dtype();
  const Tensor sums = scan(cumsum_row, is_cast_first ? cast(x, *options.dtype, site) : x, axis, options.include_initial, site);
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

Tensor cumsum(const Tensor& x, std::int64_t axis, Site site) { return scan(cumsum_row, x, axis, false, site); }
Tensor cumprod(const Tensor& x, std::int64_t axis, Site site) { return scan(product_row, x, axis, false, site); }

}  // namespace tutti
