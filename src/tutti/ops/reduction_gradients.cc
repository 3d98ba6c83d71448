// The gradients of reductions and scans.
#include <cmath>

#include "tutti/exec/reduction_attributes.h"
#include "tutti/exec/scan_attributes.h"
#include "tutti/ops/comparison.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/gradient_rules.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/math.h"
#include "tutti/ops/reduction.h"
#include "tutti/ops/scan.h"
#include "tutti/ops/views.h"

namespace tutti {

namespace {

using detail::spread;

std::uint32_t reduced(const GradientCall& call) { return call.as<ReductionAttributes>().axes; }

// How many elements go into one result.
double length(const GradientCall& call) {
  double out = 1;
  for (std::size_t i = 0; i < call.shape(0).size(); ++i) {
    if ((reduced(call) >> i & 1U) != 0) out *= static_cast<double>(call.shape(0)[i]);
  }
  return out;
}

Tensor spread_back(const GradientCall& call, const Tensor& x) { return spread(x, call.shape(0), reduced(call), call.site); }

Dims axes_of(std::uint32_t mask, std::size_t rank) {
  Dims out;
  for (std::size_t i = 0; i < rank; ++i) {
    if ((mask >> i & 1U) != 0) out.push_back(static_cast<std::int64_t>(i));
  }
  return out;
}

void sum_rule(GradientCall& call) { call.give(0, spread_back(call, call.gradient())); }
void mean_rule(GradientCall& call) { call.give(0, spread_back(call, divide(call.gradient(), length(call), call.site))); }

// Shared by all that are as large as the largest, or as small as the smallest.
Tensor shared_by(const GradientCall& call, const Tensor& mask) {
  const Tensor ones = cast(mask, call.inputs[0].dtype, call.site);
  const Tensor count = sum(ones, axes_of(reduced(call), ones.rank()), {}, call.site);
  return multiply(ones, spread_back(call, divide(call.gradient(), count, call.site)), call.site);
}
void extremum_rule(GradientCall& call) {
  call.give(0, shared_by(call, equal(call.input(0), spread_back(call, call.output()), call.site)));
}

// Behind the first: the products of the elements before each, with a 1 at the front.
Tensor products_before(const Tensor& lines, Site site) {
  const std::int64_t size = lines.shape()[lines.rank() - 1];
  const Tensor front = ones_like(slice(lines, -1, {0, 1}, site), {}, site);
  return cumprod(concat(std::array{front, slice(lines, -1, {0, size - 1}, site)}, -1, site), -1, site);
}
// The product of all others: also right where an element is 0.
void prod_rule(GradientCall& call) {
  const Tensor& x = call.input(0);
  if (x.size() == 0) return call.give(0, zeros(x.shape(), x.dtype(), call.site));
  // The reduced axes last, as one.
  Dims order;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if ((reduced(call) >> i & 1U) == 0) order.push_back(static_cast<std::int64_t>(i));
  }
  Shape kept;
  for (const std::int64_t axis : order) kept.push_back(x.shape()[static_cast<std::size_t>(axis)]);
  Shape lines_shape = kept;
  lines_shape.push_back(-1);
  for (const std::int64_t axis : axes_of(reduced(call), x.rank())) order.push_back(axis);
  const Tensor moved = permute_dims(x, order, call.site);
  const Tensor lines = reshape(moved, lines_shape, call.site);
  const Tensor after = flip(products_before(flip(lines, {-1}, call.site), call.site), {-1}, call.site);
  const Tensor others = reshape(multiply(products_before(lines, call.site), after, call.site), moved.shape(), call.site);
  Dims back(order);
  for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  call.give(0, multiply(permute_dims(others, back, call.site), spread_back(call, call.gradient()), call.site));
}

// How the variance changes with each element: 2 (x - mean) / (n - correction).
Tensor variance_slope(const GradientCall& call) {
  const Tensor& x = call.input(0);
  const double divisor = std::max(0.0, length(call) - call.as<ReductionAttributes>().parameter);
  const Tensor centre = mean(x, axes_of(reduced(call), x.rank()), {.keepdims = true}, call.site);
  return multiply(subtract(x, centre, call.site), 2 / divisor, call.site);
}
void var_rule(GradientCall& call) { call.give(0, multiply(variance_slope(call), spread_back(call, call.gradient()), call.site)); }
// At zero, where a deviation has a corner, its gradient is 0.
void std_rule(GradientCall& call) {
  const Tensor is_zero = equal(call.output(), 0, call.site);
  const Tensor twice = where(is_zero, 1, multiply(call.output(), 2, call.site), call.site);
  const Tensor by_root = where(is_zero, 0, divide(call.gradient(), twice, call.site), call.site);
  call.give(0, multiply(variance_slope(call), spread_back(call, by_root), call.site));
}
void log_sum_exp_rule(GradientCall& call) {
  const Tensor share = exp(subtract(call.input(0), spread_back(call, call.output()), call.site), call.site);
  call.give(0, multiply(share, spread_back(call, call.gradient()), call.site));
}
// At zero, where a norm has a corner, its gradient is 0.
void norm_rule(GradientCall& call) {
  const double order = call.as<ReductionAttributes>().parameter;
  const Tensor& x = call.input(0);
  if (std::isinf(order)) {
    const Tensor mask = equal(abs(x, call.site), spread_back(call, call.output()), call.site);
    return call.give(0, multiply(shared_by(call, mask), sign(x, call.site), call.site));
  }
  if (order == 1) return call.give(0, multiply(sign(x, call.site), spread_back(call, call.gradient()), call.site));
  const Tensor is_zero = equal(call.output(), 0, call.site);
  const Tensor safe = where(is_zero, 1, call.output(), call.site);
  const Tensor scale = divide(call.gradient(), order == 2 ? safe : pow(safe, order - 1, call.site), call.site);
  const Tensor parts = order == 2 ? x : multiply(sign(x, call.site), pow(abs(x, call.site), order - 1, call.site), call.site);
  call.give(0, multiply(parts, spread_back(call, where(is_zero, 0, scale, call.site)), call.site));
}

std::int64_t axis_of_scan(const GradientCall& call) { return -1 - call.as<ScanAttributes>().after; }
Tensor summed_from_the_end(const Tensor& x, std::int64_t axis, Site site) {
  return flip(cumsum(flip(x, {axis}, site), axis, site), {axis}, site);
}
void cumsum_rule(GradientCall& call) {
  const std::int64_t axis = axis_of_scan(call);
  const Tensor& g = call.gradient();
  const Tensor own = call.as<ScanAttributes>().include_initial ? slice(g, axis, {1, {}}, call.site) : g;
  call.give(0, summed_from_the_end(own, axis, call.site));
}
// With x' = x[i + 1]: s[i] = g[i] + x'[i] s[i + 1], by doubling; the gradient is s times the product of what stands before. Also
// right where an element is 0.
void cumprod_rule(GradientCall& call) {
  const std::int64_t axis = axis_of_scan(call);
  const Site site = call.site;
  const Tensor lines = moveaxis(call.input(0), axis, -1, site);
  const std::int64_t size = lines.shape()[lines.rank() - 1];
  if (lines.size() == 0) return call.give(0, zeros(call.shape(0), call.inputs[0].dtype, site));
  const auto shifted = [&](const Tensor& x, std::int64_t by) {
    const Tensor rest = slice(x, -1, {by, {}}, site);
    return concat(std::array{rest, zeros_like(slice(x, -1, {0, by}, site), {}, site)}, -1, site);
  };
  Tensor factor = shifted(lines, 1);
  Tensor total = moveaxis(call.gradient(), axis, -1, site);
  for (std::int64_t by = 1; by < size; by *= 2) {
    total = add(total, multiply(factor, shifted(total, by), site), site);
    factor = multiply(factor, shifted(factor, by), site);
  }
  call.give(0, moveaxis(multiply(total, products_before(lines, site), site), -1, axis, site));
}

constexpr const char* gives_whole = "its result is a whole number";
constexpr const char* gives_truth = "its result is true or false";

[[maybe_unused]] const bool reduction_rules[] = {
    register_gradient("Sum", {.apply = sum_rule}),
    register_gradient("Mean", {.apply = mean_rule}),
    register_gradient("Prod", {.apply = prod_rule, .reads_inputs = reads::first}),
    register_gradient("Max", {.apply = extremum_rule, .reads_inputs = reads::first, .reads_outputs = reads::first}),
    register_gradient("Min", {.apply = extremum_rule, .reads_inputs = reads::first, .reads_outputs = reads::first}),
    register_gradient("Var", {.apply = var_rule, .reads_inputs = reads::first}),
    register_gradient("Std", {.apply = std_rule, .reads_inputs = reads::first, .reads_outputs = reads::first}),
    register_gradient("LogSumExp", {.apply = log_sum_exp_rule, .reads_inputs = reads::first, .reads_outputs = reads::first}),
    register_gradient("Norm", {.apply = norm_rule, .reads_inputs = reads::first, .reads_outputs = reads::first}),
    register_gradient("All", no_gradient(gives_truth)),
    register_gradient("Any", no_gradient(gives_truth)),
    register_gradient("CountNonzero", no_gradient(gives_whole)),
    register_gradient("CountNonzeroOnAxes", no_gradient(gives_whole)),
    register_gradient("ArgMax", no_gradient(gives_whole)),
    register_gradient("ArgMin", no_gradient(gives_whole)),
    register_gradient("Cumsum", {.apply = cumsum_rule}),
    register_gradient("Cumprod", {.apply = cumprod_rule, .reads_inputs = reads::first}),
};

}  // namespace

}  // namespace tutti
