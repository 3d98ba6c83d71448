#include "tutti/ops/reduction.h"

#include <cmath>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/reduction_attributes.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/views.h"

namespace tutti {

namespace {

// What the reduced axes leave; how many elements go into each result.
struct Outcome {
  Shape kept;
  std::int64_t length = 1;
};
Outcome outcome_of(const Inference& in) {
  in.expect_inputs(1);
  const std::uint32_t reduced = in.attributes<ReductionAttributes>().axes;
  Outcome out;
  for (std::size_t i = 0; i < in.shape(0).size(); ++i) {
    if ((reduced >> i & 1U) != 0) {
      out.length *= in.shape(0)[i];
    } else {
      out.kept.push_back(in.shape(0)[i]);
    }
  }
  return out;
}

void infer_sum(Inference& in) { in.output(is_floating(in.dtype(0)) ? in.dtype(0) : DType::i64, outcome_of(in).kept); }
void infer_same_dtype(Inference& in) { in.output(in.dtype(0), outcome_of(in).kept); }
void infer_truth(Inference& in) { in.output(DType::boolean, outcome_of(in).kept); }
void infer_count_on_axes(Inference& in) { in.output(DType::i64, outcome_of(in).kept); }

void infer_extremum(Inference& in) {
  const Outcome out = outcome_of(in);
  if (out.length == 0) in.reject_shapes("there is nothing to choose from");
  in.output(in.dtype(0), out.kept);
}
void infer_norm(Inference& in) {
  const Outcome out = outcome_of(in);
  if (out.length == 0 && std::isinf(in.attributes<ReductionAttributes>().parameter))
    in.reject_shapes("there is nothing to choose from");
  in.output(in.dtype(0), out.kept);
}
void infer_argument(Inference& in) {
  in.expect_inputs(1);
  const Shape& shape = in.shape(0);
  const std::int32_t asked = in.attributes<ArgumentAttributes>().axis;
  const std::size_t axis = checked_axis(in.function(), asked, shape.size(), in.site());
  if (shape[axis] == 0) in.reject_shapes("there is nothing to choose from");
  Shape kept(shape.view().first(axis));
  for (const std::int64_t size : shape.view().subspan(axis + 1)) kept.push_back(size);
  in.output(DType::i64, kept);
}

const OpRow& sum_row = register_op({.name = "Sum", .function = "sum", .infer = infer_sum, .strided = true});
const OpRow& prod_row = register_op({.name = "Prod", .function = "prod", .infer = infer_sum, .strided = true});
const OpRow& max_row = register_op({.name = "Max", .function = "max", .infer = infer_extremum, .strided = true});
const OpRow& min_row = register_op({.name = "Min", .function = "min", .infer = infer_extremum, .strided = true});
const OpRow& mean_row =
    register_op({.name = "Mean", .function = "mean", .infer = infer_same_dtype, .strided = true, .takes = floating_dtypes});
const OpRow& var_row =
    register_op({.name = "Var", .function = "var", .infer = infer_same_dtype, .strided = true, .takes = floating_dtypes});
const OpRow& std_row =
    register_op({.name = "Std", .function = "std", .infer = infer_same_dtype, .strided = true, .takes = floating_dtypes});
const OpRow& all_row = register_op({.name = "All", .function = "all", .infer = infer_truth, .strided = true});
const OpRow& any_row = register_op({.name = "Any", .function = "any", .infer = infer_truth, .strided = true});
const OpRow& count_on_axes_row =
    register_op({.name = "CountNonzeroOnAxes", .function = "count_nonzero", .infer = infer_count_on_axes, .strided = true});
const OpRow& log_sum_exp_row = register_op(
    {.name = "LogSumExp", .function = "logsumexp", .infer = infer_same_dtype, .strided = true, .takes = floating_dtypes});
const OpRow& norm_row =
    register_op({.name = "Norm", .function = "vector_norm", .infer = infer_norm, .strided = true, .takes = floating_dtypes});
const OpRow& argmax_row = register_op({.name = "ArgMax", .function = "argmax", .infer = infer_argument, .strided = true});
const OpRow& argmin_row = register_op({.name = "ArgMin", .function = "argmin", .infer = infer_argument, .strided = true});

// The shape with size 1 along the reduced axes.
Shape shape_without(const Shape& from, std::uint32_t mask) {
  Shape out = from;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if ((mask >> i & 1U) != 0) out[i] = 1;
  }
  return out;
}

// Runs the call over x and, with keepdims, gives the reduced axes back.
Tensor run_over(OpCall& call, const Tensor& x, std::uint32_t mask, bool keepdims, Site site) {
  call.add(x);
  Tensor out = dispatch_one(call);
  return keepdims ? reshape(out, shape_without(x.shape(), mask), site) : out;
}

Tensor reduce(const OpRow& row, const Tensor& x, const ReducedAxes& axes, bool keepdims, Site site, double parameter = 0) {
  const std::uint32_t mask = axes.mask(row.function.c_str(), x.rank(site), site);
  OpCall call(row, site);
  call.attributes = Attributes(ReductionAttributes{mask, parameter});
  return run_over(call, x, mask, keepdims, site);
}

// With elements of the dtype asked for. Integers are cut off at the end: they wrap either way.
Tensor reduce_as(const OpRow& row, const Tensor& x, const ReducedAxes& axes, const SumOptions& options, Site site) {
  const auto run = [&](const Tensor& elements) { return reduce(row, elements, axes, options.keepdims, site); };
  if (!options.dtype) return run(x);
  const DType dtype = *options.dtype;
  if (dtype == DType::boolean)
    throw DTypeError(text(row.function, ": a result of dtype bool was asked for; see all and any"), site);
  const bool cast_first = is_floating(dtype) || is_floating(x.dtype(site));
  return cast(run(cast_first ? cast(x, dtype, site) : x), dtype, site);
}

// The first of several equal ones counts.
Tensor find(const OpRow& row, const Tensor& x, std::size_t axis, bool keepdims, Site site) {
  OpCall call(row, site);
  call.attributes = Attributes(ArgumentAttributes{static_cast<std::int32_t>(axis)});
  return run_over(call, x, 1U << axis, keepdims, site);
}

// The place in row-major order.
Tensor find_in_all(const OpRow& row, const Tensor& x, Site site) {
  return find(row, reshape(x, {x.size(site)}, site), 0, false, site);
}

}  // namespace

std::uint32_t ReducedAxes::mask(const char* function, std::size_t rank, Site site) const {
  if (is_all_) return (1U << rank) - 1;
  std::uint32_t mask = 0;
  for (const std::int64_t axis : axes_) {
    const std::uint32_t bit = 1U << checked_axis(function, axis, rank, site);
    if ((mask & bit) != 0) throw ShapeError(text(function, ": axis ", axis, " is given twice in ", to_string(axes_)), site);
    mask |= bit;
  }
  return mask;
}

Tensor sum(const Tensor& x, Site site) { return reduce(sum_row, x, all_axes, false, site); }
Tensor sum(const Tensor& x, const ReducedAxes& axes, const SumOptions& options, Site site) {
  return reduce_as(sum_row, x, axes, options, site);
}
Tensor prod(const Tensor& x, Site site) { return reduce(prod_row, x, all_axes, false, site); }
Tensor prod(const Tensor& x, const ReducedAxes& axes, const SumOptions& options, Site site) {
  return reduce_as(prod_row, x, axes, options, site);
}

Tensor max(const Tensor& x, Site site) { return reduce(max_row, x, all_axes, false, site); }
Tensor max(const Tensor& x, const ReducedAxes& axes, const ReductionOptions& options, Site site) {
  return reduce(max_row, x, axes, options.keepdims, site);
}
Tensor min(const Tensor& x, Site site) { return reduce(min_row, x, all_axes, false, site); }
Tensor min(const Tensor& x, const ReducedAxes& axes, const ReductionOptions& options, Site site) {
  return reduce(min_row, x, axes, options.keepdims, site);
}

Tensor mean(const Tensor& x, Site site) { return reduce(mean_row, x, all_axes, false, site); }
Tensor mean(const Tensor& x, const ReducedAxes& axes, const ReductionOptions& options, Site site) {
  return reduce(mean_row, x, axes, options.keepdims, site);
}

Tensor var(const Tensor& x, Site site) { return reduce(var_row, x, all_axes, false, site, VarianceOptions{}.correction); }
Tensor var(const Tensor& x, const ReducedAxes& axes, const VarianceOptions& options, Site site) {
  return reduce(var_row, x, axes, options.keepdims, site, options.correction);
}
Tensor std(const Tensor& x, Site site) { return reduce(std_row, x, all_axes, false, site, VarianceOptions{}.correction); }
Tensor std(const Tensor& x, const ReducedAxes& axes, const VarianceOptions& options, Site site) {
  return reduce(std_row, x, axes, options.keepdims, site, options.correction);
}

Tensor all(const Tensor& x, Site site) { return reduce(all_row, x, all_axes, false, site); }
Tensor all(const Tensor& x, const ReducedAxes& axes, const ReductionOptions& options, Site site) {
  return reduce(all_row, x, axes, options.keepdims, site);
}
Tensor any(const Tensor& x, Site site) { return reduce(any_row, x, all_axes, false, site); }
Tensor any(const Tensor& x, const ReducedAxes& axes, const ReductionOptions& options, Site site) {
  return reduce(any_row, x, axes, options.keepdims, site);
}

Tensor count_nonzero(const Tensor& x, const ReducedAxes& axes, const ReductionOptions& options, Site site) {
  return reduce(count_on_axes_row, x, axes, options.keepdims, site);
}

Tensor argmax(const Tensor& x, Site site) { return find_in_all(argmax_row, x, site); }
Tensor argmax(const Tensor& x, std::int64_t axis, const ReductionOptions& options, Site site) {
  return find(argmax_row, x, checked_axis("argmax", axis, x.rank(site), site), options.keepdims, site);
}
Tensor argmin(const Tensor& x, Site site) { return find_in_all(argmin_row, x, site); }
Tensor argmin(const Tensor& x, std::int64_t axis, const ReductionOptions& options, Site site) {
  return find(argmin_row, x, checked_axis("argmin", axis, x.rank(site), site), options.keepdims, site);
}

Tensor logsumexp(const Tensor& x, Site site) { return reduce(log_sum_exp_row, x, all_axes, false, site); }
Tensor logsumexp(const Tensor& x, const ReducedAxes& axes, const ReductionOptions& options, Site site) {
  return reduce(log_sum_exp_row, x, axes, options.keepdims, site);
}

Tensor vector_norm(const Tensor& x, Site site) { return vector_norm(x, all_axes, {}, site); }
Tensor vector_norm(const Tensor& x, const ReducedAxes& axes, const VectorNormOptions& options, Site site) {
  if (std::isnan(options.ord)) throw InvalidArgument("vector_norm: the order is NaN; give a number or an infinity", site);
  if (options.ord != 0 || !is_floating(x.dtype(site))) return reduce(norm_row, x, axes, options.keepdims, site, options.ord);
  (void)axes.mask("vector_norm", x.rank(), site);  // refused here, not in the name of count_nonzero
  return cast(count_nonzero(x, axes, {.keepdims = options.keepdims}, site), x.dtype(site), site);
}

}  // namespace tutti
