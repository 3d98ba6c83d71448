#include "tutti/exec/sort_key.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/sort_plan.h"
#include "tutti/kernels/cuda/topk.h"

namespace tutti::kernels::cuda {

namespace {

Shape shape_of(const Operand& x) {
  Shape shape;
  for (std::size_t i = 0; i < x.rank; ++i) shape.push_back(x.axes[i].size);
  return shape;
}

}  // namespace

static std::int64_t sort_workspace(const OpCall& /*call*/, const Inference& in) {
  return SortPlan(in.attributes<SortAttributes>(), in.shape(0), in.dtype(0)).scratch_bytes();
}

static void sort(const KernelCall& call, KernelContext& context) {
  const Operand& x = call.in(0);
  const SortPlan plan(call.attributes->as<SortAttributes>(), shape_of(x), x.dtype);
  if (plan.is_empty()) return;
  visit_sort_width(x.dtype, [&](auto width) { sort_lines<decltype(width)>(plan, call, queue_of(context)); });
}

static std::int64_t topk_workspace(const OpCall& call, const Inference& in) {
  const SortPlan plan(in.attributes<SortAttributes>(), in.shape(0), in.dtype(0));
  if (plan.is_empty()) return 0;
  return selects(plan) ? select_bytes(plan) : sort_workspace(call, in);
}

// Unless few are picked of many, they are the first of all when those are sorted.
static void topk(const KernelCall& call, KernelContext& context) {
  const SortPlan plan(call.attributes->as<SortAttributes>(), shape_of(call.in(0)), call.in(0).dtype);
  if (!plan.is_empty() && selects(plan)) return select_best(plan, call, queue_of(context));
  sort(call, context);
}

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("Sort", sort, sort_workspace) && register_cuda_kernel("TopKV2", topk, topk_workspace);

}  // namespace tutti::kernels::cuda
