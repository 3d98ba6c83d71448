#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/sort_plan.h"
#include "tutti/kernels/cuda/topk.h"

namespace tutti::kernels::cuda {

namespace {

SortPlan plan_of(const WorkspaceCall& call) { return {call.attributes().as<SortAttributes>(), call.input(0)}; }
SortPlan plan_of(const KernelCall& call) { return {call.attributes->as<SortAttributes>(), call.in(0)}; }

}  // namespace

static std::int64_t sort_bytes(const WorkspaceCall& call) { return plan_of(call).scratch_bytes(); }

static void sort(const KernelCall& call, KernelContext& context) {
  const SortPlan plan = plan_of(call);
  if (plan.is_empty()) return;
  sort_lines(plan, call, queue_of(context));
}

static std::int64_t topk_bytes(const WorkspaceCall& call) {
  const SortPlan plan = plan_of(call);
  if (plan.is_empty()) return 0;
  return selects(plan) ? select_bytes(plan) : plan.scratch_bytes();
}

// Unless few are picked of many, they are the first of all when those are sorted.
static void topk(const KernelCall& call, KernelContext& context) {
  const SortPlan plan = plan_of(call);
  if (!plan.is_empty() && selects(plan)) return select_best(plan, call, queue_of(context));
  sort(call, context);
}

[[maybe_unused]] static const bool sort_is_registered =
    register_cuda_kernel("Sort", sort, workspace<sort_bytes>) && register_cuda_kernel("TopKV2", topk, workspace<topk_bytes>);

}  // namespace tutti::kernels::cuda
