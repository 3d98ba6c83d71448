// The best k of long lines by selection, for k that is far smaller than they are.
#pragma once

#include "tutti/kernels/cuda/sort_plan.h"

namespace tutti::kernels::cuda {

inline constexpr std::int64_t most_selected = 2048;  // at most half of a long line

// Whether a plan with both outputs is one for selection, and the bytes it then needs.
bool selects(const SortPlan& plan);
std::int64_t select_bytes(const SortPlan& plan);
void select_best(const SortPlan& plan, const KernelCall& call, Queue& queue);

}  // namespace tutti::kernels::cuda
