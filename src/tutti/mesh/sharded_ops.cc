#include "tutti/mesh/sharded_ops.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/axis_labels.h"
#include "tutti/mesh/collectives.h"
#include "tutti/mesh/local_devices.h"
#include "tutti/mesh/number.h"
#include "tutti/mesh/relayout.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/matmul.h"

namespace tutti {

namespace {

using detail::AxisLabels;

// What every op here is: its axes' labels, what one device does with its shards, and how parts of a result are combined.
template <class Local>
ShardedTensor run(const char* name, const AxisLabels& labels, std::span<const ShardedTensor* const> inputs, Reduction combine,
                  Site site, Local&& local) {
  const detail::Agreement agreed = detail::agree(name, labels, inputs, site);
  const detail::DerivedOrder ordered;
  std::vector<ShardedTensor> sliced;
  for (std::size_t i = 0; i < inputs.size(); ++i) sliced.push_back(relayout(*inputs[i], agreed.inputs[i], site));
  const Mesh& mesh = inputs.front()->mesh();
  std::vector<Tensor> shards = detail::made_on_each(mesh, site, [&](std::size_t device) {
    std::vector<Tensor> here;
    for (const ShardedTensor& input : sliced) here.push_back(input.shards()[device]);
    return local(here);
  });
  if (!agreed.combined.empty()) shards = all_reduce(shards, mesh, agreed.combined, combine, site);
  const Shape global = agreed.output.global_shape(shards.front().shape(), site);
  return {agreed.output, global, std::move(shards)};
}

struct ReductionRow {
  const char* name;
  Tensor (*local)(const Tensor& x, const ReducedAxes& axes, bool keepdims, Site site);
  Reduction combine;
};

ShardedTensor reduce(const ReductionRow& row, const ShardedTensor& x, const ReducedAxes& axes, bool keepdims, Site site) {
  const ShardedTensor* const input = &x;
  const AxisLabels labels = detail::reduction_labels(x.rank(site), axes.mask(row.name, x.rank(), site), keepdims);
  return run(row.name, labels, {&input, 1}, row.combine, site,
             [&](const std::vector<Tensor>& shards) { return row.local(shards.front(), axes, keepdims, site); });
}

template <class Options, Tensor (*function)(const Tensor&, const ReducedAxes&, const Options&, Site)>
Tensor over_axes(const Tensor& x, const ReducedAxes& axes, bool keepdims, Site site) {
  return function(x, axes, Options{.keepdims = keepdims}, site);
}

// The means of equally long shards have the mean of all as their mean.
constexpr ReductionRow sum_row{"sum", over_axes<SumOptions, sum>, Reduction::sum};
constexpr ReductionRow prod_row{"prod", over_axes<SumOptions, prod>, Reduction::prod};
constexpr ReductionRow mean_row{"mean", over_axes<ReductionOptions, mean>, Reduction::mean};
constexpr ReductionRow max_row{"max", over_axes<ReductionOptions, max>, Reduction::max};
constexpr ReductionRow min_row{"min", over_axes<ReductionOptions, min>, Reduction::min};
constexpr ReductionRow all_row{"all", over_axes<ReductionOptions, all>, Reduction::min};
constexpr ReductionRow any_row{"any", over_axes<ReductionOptions, any>, Reduction::max};

// The tensors among the operands, shard by shard; numbers stay as they are.
template <class Call>
ShardedTensor map_shards(const char* name, std::initializer_list<const ShardedArg*> operands, Site site, Call&& call) {
  std::vector<const ShardedTensor*> tensors;
  for (const ShardedArg* each : operands) {
    if (each->tensor() != nullptr) tensors.push_back(each->tensor());
  }
  if (tensors.empty()) throw InvalidArgument(text(name, ": at least one operand must be a sharded tensor"), site);
  return run(
      name, detail::elementwise_labels(name, tensors, site), tensors, Reduction::sum, site,
      [&](const std::vector<Tensor>& shards) {
        std::vector<TensorArg> args;
        std::size_t next = 0;
        for (const ShardedArg* each : operands)
          args.push_back(each->tensor() == nullptr ? detail::as_argument(each->number(), site) : TensorArg(shards[next++], site));
        return call(args);
      });
}

}  // namespace

ShardedTensor matmul(const ShardedTensor& a, const ShardedTensor& b, Site site) {
  const std::array<const ShardedTensor*, 2> inputs{&a, &b};
  return run("matmul", detail::matmul_labels(a, b, site), inputs, Reduction::sum, site,
             [&](const std::vector<Tensor>& shards) { return matmul(shards[0], shards[1], site); });
}

#define TUTTI_REDUCTION(function)                                                                                       \
  ShardedTensor function(const ShardedTensor& x, const ReducedAxes& axes, const ReductionOptions& options, Site site) { \
    return reduce(function##_row, x, axes, options.keepdims, site);                                                     \
  }
TUTTI_REDUCTION(sum)
TUTTI_REDUCTION(prod)
TUTTI_REDUCTION(mean)
TUTTI_REDUCTION(max)
TUTTI_REDUCTION(min)
TUTTI_REDUCTION(all)
TUTTI_REDUCTION(any)
#undef TUTTI_REDUCTION

ShardedTensor cast(const ShardedTensor& x, DType dtype, Site site) {
  const ShardedArg operand(x, site);
  return map_shards("cast", {&operand}, site, [&](std::vector<TensorArg>& args) { return cast(args[0].tensor(), dtype, site); });
}

ShardedTensor elementwise(const char* name, UnaryOp op, const ShardedArg& x, Site site) {
  return map_shards(name, {&x}, site, [&](std::vector<TensorArg>& args) { return op(args[0], site); });
}
ShardedTensor elementwise(const char* name, BinaryOp op, const ShardedArg& a, const ShardedArg& b, Site site) {
  return map_shards(name, {&a, &b}, site, [&](std::vector<TensorArg>& args) { return op(args[0], args[1], site); });
}
ShardedTensor elementwise(const char* name, TernaryOp op, const ShardedArg& a, const ShardedArg& b, const ShardedArg& c,
                          Site site) {
  return map_shards(name, {&a, &b, &c}, site, [&](std::vector<TensorArg>& args) { return op(args[0], args[1], args[2], site); });
}

}  // namespace tutti
